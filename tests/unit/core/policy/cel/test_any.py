"""Any source and any data: a program or a refusal, a result or an error, and nothing else."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.core.policy.cel import globs, hosts, programs, versions
from toolcall_operator.core.policy.cel.programs import Kind, Scope

WORDS = (
    *("call", "config", "call.argv", "call.flags", "call.flags.x", "config.l", "config.m", "x", "y", "true", "null"),
    *("1", "-1", "2u", "1.5", "'a'", "b'a'", "r'\\'", "[]", "{}", "int", "[1, 'a']", "{'a': 1}", "'1h'", "(", ")"),
    *("[", "]", "{", "}", ",", ":", "?", ".", "+", "-", "*", "/", "%", "!", "==", "!=", "<", ">=", "in", "&&", "||"),
    *(".all(x, ", ".exists(x, ", ".exists_one(y, ", ".map(x, ", ".filter(y, ", "has(", "size(", "string(", "int("),
    *(".matches(", ".contains(", ".size()", "path.isUnder(", "host.of(", "glob.match(", "call.flag(", "timestamp("),
    *("duration(", "dyn(", "type(", ".a", ".getHours()", " ", "\n", "//", "'", '"', "\\", "`", "#", "é"),
)
SOURCES = st.lists(st.sampled_from(WORDS), max_size=24).map("".join) | st.text(max_size=80)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
DATA = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner))
MAPS = st.dictionaries(st.sampled_from(("x", "l", "m", "a", "argv", "flags")), DATA, max_size=6)


@given(SOURCES, MAPS, MAPS)
def test_any_source_is_refused_or_evaluated_and_nothing_else_happens(
    source: str, call: dict[str, object], config: dict[str, object]
) -> None:
    try:
        program = programs.compiled(source, Kind.ANY)
    except programs.CelError as refused:
        line, column, message = str(refused).split(":", 2)
        assert int(line) >= 1
        assert int(column) >= 1
        assert message.strip()
        return
    with contextlib.suppress(programs.EvaluationError):
        program.evaluate(Scope(call=call, config=config))


@given(st.text(max_size=60))
def test_no_host_is_told_of_that_is_not_written_in_the_url(url: str) -> None:
    host = hosts.of(url)

    assert not host or host.split(":", maxsplit=1)[0].strip("[]") in url.lower() or "::" in host


@given(st.text("*?[]^-\\ab/", max_size=12), st.text("ab/]^-", max_size=12))
def test_any_file_pattern_is_made_or_is_bad(pattern: str, text: str) -> None:
    source = "glob.match(config.pattern, config.text)"

    found = programs.compiled(source, Kind.BOOL).evaluate(Scope(call={}, config={"pattern": pattern, "text": text}))

    assert found is False or globs.regular(pattern) is not None


@given(st.text("0123.xX*^~<>=|, -rcv", max_size=20), st.text("0123.-rcv+", max_size=12))
def test_any_range_is_read_or_is_none(wanted: str, version: str) -> None:
    assert versions.satisfies(version, wanted) is False or versions.parsed(wanted) is not None
