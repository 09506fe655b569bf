"""Programs: what is found when a policy loads, and what an evaluation says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType

import pytest

from toolcall_operator.core.policy.cel import programs
from toolcall_operator.core.policy.cel.programs import Kind, Scope

SECRET = "hunter2"


class Colour(StrEnum):
    RED = "red"


def scope(**call: object) -> Scope:
    return Scope(call={"subcommand": "push", "argv": ["git", "push"], "flags": {}, "env": {}, **call}, config={})


def evaluated(source: str, within: Scope, wanted: Kind = Kind.BOOL) -> object:
    return programs.compiled(source, wanted).evaluate(within)


def refusal(source: str, wanted: Kind = Kind.BOOL) -> str:
    with pytest.raises(programs.CelError) as caught:
        programs.compiled(source, wanted)
    return str(caught.value)


def trouble(source: str, within: Scope, wanted: Kind = Kind.BOOL) -> str:
    program = programs.compiled(source, wanted)
    with pytest.raises(programs.EvaluationError) as caught:
        program.evaluate(within)
    return str(caught.value)


REFUSED = {
    "a source that ends too early": ("call.subcommand ==", "1:19: the expression ends where an expression is expected"),
    "a source that does not end": ("true true", "1:6: true stands where the end is expected"),
    "an open string": ("'abc", "1:1: a string without its end"),
    "a lone equals sign": ("call.cwd = 'a'", "1:10: = alone is no operator; there are ==, && and ||"),
    "a stranger": ("true # no", "1:6: the character '#' means nothing here"),
    "a reserved word": ("for == 1", "1:1: for is a reserved word"),
    "an unknown variable": ("cal.cwd == 'a'", "1:1: there is no variable cal; did you mean call?"),
    "an unknown field": ("call.subcomand == 'a'", "1:6: there is no field subcomand; did you mean subcommand?"),
    "an unknown key": ("call['argvs'] == 'a'", "1:5: there is no field argvs; did you mean argv?"),
    "an unknown field inside": ("call.effects.network.hosts == []", "1:22: there is no field hosts"),
    "an unknown function": (
        "paths.isUnder('a', 'b')",
        "1:7: there is no function paths.isUnder(); did you mean path.is",
    ),
    "a function of the call on something else": ("config.flag('a') == ''", "1:8: flag() is a function of call alone"),
    "a function of the call on a map": ("{'a': 1}.hasFlag('a')", "1:10: hasFlag() is a function of call alone"),
    "a method without its value": ("startsWith('a')", "1:1: startsWith() is called on a value: x.startsWith(…)"),
    "too many arguments": ("path.isUnder('a')", "1:6: path.isUnder() does not take (string)"),
    "arguments of another type": ("path.isUnder(1, 'a')", "1:6: path.isUnder() does not take (int, string)"),
    "operands of two types": ("call.cwd == 1", "1:10: == does not take (string, int)"),
    "a list compared with text": ("call.argv == 'git'", "1:11: == does not take (list(string), string)"),
    "no bool": ("call.cwd", "1:1: the expression gives string, not bool"),
    "no bool in a part": ("call.cwd && true", "1:6: a part of && must be a bool, not string"),
    "no bool in a loop": ("call.argv.all(a, a)", "1:18: the condition of all() must be a bool, not string"),
    "a loop over a text": (
        "call.cwd.all(a, true)",
        "1:10: all() goes over a list or the keys of a map, not over string",
    ),
    "a loop without a name": (
        "call.argv.all('a', true)",
        "1:15: the first argument of all() must be a name for the ele",
    ),
    "a bad regular expression": ("call.cwd.matches('(')", "1:18: the pattern of matches() is no regular expression"),
    "a backreference": (r"call.cwd.matches('(a)\\1')", "1:18: the pattern of matches() is no regular expression"),
    "a bad file pattern": ("glob.match('[', call.cwd)", "1:12: the pattern of glob.match() is no file pattern"),
    "a bad range": ("semver.satisfies(call.binaryVersion, 'new')", "1:38: no range of versions"),
    "a second line": ("true\n  && nope", "2:6: there is no variable nope"),
    "a question about nothing": ("has(call)", "1:5: has() takes a field"),
    "an unknown escape": (r"'\q' == 'a'", "1:2: an escape that does not exist"),
    "nothing": ("", "1:1: the expression ends where an expression is expected"),
}


@pytest.mark.parametrize(("source", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_expression_is_refused_where_it_is_bad(source: str, message: str) -> None:
    assert refusal(source).startswith(message)


def test_an_expression_that_gives_no_text_is_refused_where_a_text_is_wanted() -> None:
    assert refusal("call.argv", Kind.STRING) == "1:1: the expression gives list(string), not string"


def test_a_type_that_only_shows_on_evaluation_is_an_error_then() -> None:
    within = scope(flags={"force": "yes"})

    assert trouble("call.flags.force", within) == "the expression gives string, not bool"


def test_only_the_variables_of_a_program_are_there() -> None:
    program = programs.compiled("args.repo + '/' + args.branch", Kind.STRING, variables=("args",))

    assert program.evaluate(Scope(args={"repo": "r", "branch": "b"})) == "r/b"
    with pytest.raises(programs.CelError, match="1:1: there is no variable call"):
        programs.compiled("call.cwd", Kind.STRING, variables=("args",))
    with pytest.raises(programs.CelError, match=r"1:6: there is no variable call, so no call\.flag\(\)"):
        programs.compiled("call.flag('a')", Kind.STRING, variables=("args",))


def test_a_scope_serves_many_programs() -> None:
    within = scope(flags={"depth": 3})

    found = [
        evaluated(source, within) for source in ("call.flags.depth > 2", "'git' in call.argv", "!has(call.flags.x)")
    ]

    assert found == [True, True, True]


@pytest.mark.parametrize(
    ("source", "message"),
    (
        ("call.flags.force == true", "call.flags has no key force"),
        ("call.flags['force'] == true", "call.flags has no key force"),
        ("call.flags[call.subcommand] == true", "call.flags has no such key"),
        ("call.argv[7] == 'a'", "call.argv has no element of such a number"),
        ("call.effects.destructive", "call has no key effects"),
        ("config.limit > 1", "config has no key limit"),
        ("int(call.subcommand) > 1", "this string cannot be made a int"),
        ("call.flags.text > 1", "> has no meaning for string and int"),
        ("call.flags.text.name == 'a'", "call.flags.text is string, so it has no field name"),
        ("timestamp(call.subcommand) < now()", "timestamp() takes text like 2030-01-31T12:00:00Z"),
        ("duration(call.subcommand) < duration('1s')", "duration() takes text like 1h30m or 1.5s"),
        (
            "call.subcommand.matches(call.flags.bad)",
            "the pattern of matches() is no regular expression of RE2, or too lar",
        ),
        ("call.flag('count') == ''", "call.flag() is for flags whose value is a text"),
    ),
)
def test_an_error_names_what_is_missing_and_never_a_value(source: str, message: str) -> None:
    flags = {"text": SECRET, "bad": f"({SECRET}", "count": 3}

    said = trouble(source, scope(subcommand=SECRET, flags=flags) if "flags.force" not in source else scope())

    assert message in said
    assert SECRET not in said


def test_data_of_the_call_can_be_other_mappings_and_tuples_and_enums() -> None:
    flags: Mapping[str, object] = MappingProxyType({"colour": Colour.RED, "refs": ("a", "b")})

    within = scope(flags=flags)

    assert evaluated("call.flags.colour == 'red' && 'b' in call.flags.refs && call.flags.refs == ['a', 'b']", within)
    assert evaluated("call.flags.colour", within, Kind.STRING) == "red"


@pytest.mark.parametrize(
    ("value", "message"),
    (
        (["a"] * 257, "call.flags.x has 257 elements; an expression sees at most 256"),
        ({str(n): n for n in range(257)}, "call.flags.x has 257 keys; an expression sees at most 256"),
        (2**63, "call.flags.x is a number beyond 64 bits"),
        ({1, 2}, "call.flags.x is nothing that an expression can use"),
    ),
)
def test_what_an_expression_cannot_see_is_an_error_of_those_that_ask_for_it(value: object, message: str) -> None:
    within = scope(flags={"x": value})

    assert trouble("dyn(call.flags.x) == 1", within) == message
    assert evaluated("call.subcommand == 'push'", within)


def test_an_error_in_one_program_does_not_touch_the_next() -> None:
    program, within = programs.compiled("call.flags.x == 'y'", Kind.BOOL), scope()

    with pytest.raises(programs.EvaluationError):
        program.evaluate(within)

    assert program.evaluate(scope(flags={"x": "y"}))


def test_any_result_is_plain_data() -> None:
    source = "[1u, timestamp('2030-01-31T12:00:00Z'), duration('90s'), type(1), {true: [b'a']}, null]"

    assert evaluated(source, scope(), Kind.ANY) == [1, "2030-01-31T12:00:00Z", "90s", "int", {True: [b"a"]}, None]


def test_now_is_the_moment_of_the_decision() -> None:
    moment = datetime(2030, 1, 31, 12, 0, 0, 5, tzinfo=UTC)
    within = Scope(call={}, config={}, now=moment)

    assert evaluated("now() < timestamp('2030-02-01T00:00:00Z') && now().getFullYear() == 2030", within)
    assert evaluated("string(now())", within, Kind.STRING) == "2030-01-31T12:00:00.000005Z"
    assert trouble("now() < timestamp('2030-02-01T00:00:00Z')", scope()) == "now() is not known here"


def test_programs_of_one_source_are_equal_and_show_it() -> None:
    one, other = (programs.compiled("true", Kind.BOOL) for _ in range(2))

    assert one == other
    assert "true" in repr(one)
