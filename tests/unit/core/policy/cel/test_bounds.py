"""The bounds: no expression that compiles keeps anybody waiting, whatever the call holds."""

from __future__ import annotations

import contextlib
import time

import pytest

from toolcall_operator.core.policy.cel import programs
from toolcall_operator.core.policy.cel.programs import Kind, Scope

SECONDS = 1.0
"""Of processor time, so that a busy machine does not matter; the worst of these take 0.03, without bounds hours."""

LONG = "a" * 131_071
ARGS = ["a" * 4_600 + f"{number:04}" for number in range(256)]


def nested(levels: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for _ in range(levels):
        found = {"a": found}
    return found


CALL = {
    "subcommand": "push",
    "argv": ARGS,
    "tail": list(ARGS),
    "flags": {
        "long": LONG,
        "other": "b" + LONG[1:],
        "almost": "a" * 65_000 + "b",
        "medium": "a" * 25_000,
        "pattern": "(a?){60}b",
        "twins": list(ARGS),
        "force": True,
    },
    "positional": {},
    "env": {f"NAME{number}": LONG[:32_000] for number in range(128)},
    "cwd": "/work" + "/a" * 2_000,
}
CONFIG = {
    "patterns": ["(a?){100}b", "((a{0,10}){0,10}){0,9}b", "(.*a){20}.{10}b"],
    "letters": [r"\pL" * 42 + str(number) for number in range(64)],
    "tables": {f"key{number}": [{f"x{n}": n for n in range(50)} for _ in range(256)] for number in range(200)},
    "deep": nested(3_000),
    "twin": nested(3_000),
}


def scope() -> Scope:
    """The largest values there can be, before any work was done on them."""
    return Scope(call=CALL, config=CONFIG)


DOUBLED = ".map(v, [v, v])" * 21
GROWN = ".map(v, v + v)" * 12

TWICE = (
    "x != 'z'",
    "x + y != y + x + 'a'",
    "x == y || x != y",
    "x < y || x >= y",
    "x.startsWith(y) || x.endsWith(y) || y.contains(x) || true",
    "call.argv == call.tail",
    "!(x + y).matches('a.*b.*c')",
    "!y.matches('(a|aa)*c$')",
    "!glob.match('*a*a*a*b', x)",
    "!glob.match(x, y)",
    "path.isUnder(call.cwd, '/work')",
    "host.of('https://' + x) == ''",
    "host.of('https://a.b:1/' + x) == 'a.b:1'",
    "!host.matches(x, '*.' + y)",
    "semver.satisfies('1.2.3', '>=1 <2 || >=1 <2 || >=1 <2 || >=1 <2 || >=1 <2 || >=1 <2 || >=1 <2')",
    "!semver.satisfies('1.2.3', '>=1 <2 || ' + x)",
    "call.flags.long in call.argv || true",
    "(x + y) in call.flags || true",
    "1 in [1.5, 2.5, 3.5, x, y, true, null, [x], {'a': y}, 2u] || true",
    "bytes(x) == bytes(y) || true",
    "string(bytes(x)) == x",
    "int('1234567890') + int(double('1.5e10')) > 0",
    "string(1.5e300).size() > 0",
    "timestamp('2030-01-31T12:00:00.123456789+02:00').getDayOfYear('+05:00') > 0",
    "duration('1h1m1s1ms1us1ns') > duration('0s')",
    "[x, y, x, y].size() == 4 && {'a': x, 'b': y}.size() == 2",
    "[1, 2, 3, 4, 5, 6, 7, 8] + [1, 2, 3, 4] == [1, 2, 3, 4, 5, 6, 7, 8] + [1, 2, 3, 4]",
    "call.flag('long') != x && call.hasFlag('force') && !call.hasEnv(y)",
    "(1 / 0 == 1) || (config.nope == 1) || (dyn(x) > 1) || true",
    "config.nope == 1",
    "-9223372036854775807 * 1 % 7 / 3 < 100",
    "!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!(x == '')",
    "(((((((((((x + y) + x) + y) + x) + y) + x) + y) + x) + y) + x) + y) != ''",
    "type(x) == string && type(dyn(y)) != int",
)

HOSTILE = (
    *(f"call.argv.all(x, call.argv.all(y, {body}))" for body in TWICE),
    *(f"call.argv.exists(x, call.argv.exists(y, !({body})))" for body in TWICE),
    "call.argv.map(x, call.argv.map(y, x + y)).size() > 0",
    "call.argv.map(x, call.argv.map(y, x))",
    "call.argv.map(x, call.argv)",
    "call.argv.map(x, call.argv).map(x, x.map(y, y + y)) == call.argv.map(x, call.argv).map(x, x.map(y, y + y))",
    "call.argv.filter(x, call.argv.filter(y, x.startsWith(y)).size() > 0).size() > 0",
    "call.argv.exists_one(x, call.argv.exists_one(y, x.endsWith(y)))",
    "call.argv.all(x, !call.flags.long.contains(call.flags.almost))",
    "call.argv.all(x, !call.flags.other.contains(call.flags.almost))",
    "call.argv.all(x, !call.flags.long.matches(x))",
    "call.flags.long.matches('(a?){900}b')",
    "call.flags.medium.matches('(a?){60}b')",
    "call.flags.medium.matches(call.flags.pattern)",
    "call.flags.long.matches('((a{0,10}){0,10}){0,9}b')",
    "config.patterns.all(p, call.argv.all(x, !x.matches(p)))",
    "config.letters.exists(p, 'a'.matches(p))",
    "config.letters.all(p, glob.match(p, call.flags.long) || true)",
    "glob.match('*a*a*a*a*a*a*a*a*b', call.flags.long)",
    "call.argv.all(x, call.env.all(k, call.env[k] != x))",
    "call.argv.all(x, call.env.all(k, call.env[k] == call.env[k]))",
    "config.tables == config.tables",
    "config.tables.all(k, config.tables.all(j, config.tables[k] == config.tables[j]))",
    "config.deep == config.twin",
    "config.deep",
    f"[0]{DOUBLED} == [0]{DOUBLED}",
    f"[0]{DOUBLED}",
    f"[call.flags.long]{GROWN}[0].size() > 0",
    f"[[1]]{GROWN}[0].size() > 0",
    " + ".join(["call.flags.long"] * 60),
    " && ".join(["call.flags.long.contains(call.flags.almost)"] * 80),
    " && ".join(["call.flags.twins == call.argv"] * 100),
)


@pytest.mark.parametrize("source", HOSTILE)
def test_a_hostile_expression_ends_soon(source: str) -> None:
    program = programs.compiled(source, Kind.ANY)

    assert min(seconds(program) for _ in range(3)) < SECONDS


def seconds(program: programs.Program, values: Scope | None = None) -> float:
    given = values or scope()
    begun = time.thread_time()
    with contextlib.suppress(programs.EvaluationError):
        program.evaluate(given)
    return time.thread_time() - begun


def test_an_expression_beyond_its_bound_is_stopped_and_says_so() -> None:
    program = programs.compiled("call.argv.all(x, call.argv.all(y, x != 'z'))", Kind.BOOL)

    with pytest.raises(programs.EvaluationError, match="takes too much work for values of this size, and was stopped"):
        program.evaluate(scope())


@pytest.mark.parametrize("decided", ("{} || true", "{} && false", "[1].exists(i, {} || true)", "[1].all(i, {})"))
def test_the_bound_is_not_absorbed_by_what_would_absorb_an_error(decided: str) -> None:
    endless = "call.argv.all(x, call.argv.all(y, x != 'z'))"
    source = (
        decided.format(endless) if "[1]" not in decided else decided.format("call.flags.long.matches('(a?){900}b')")
    )

    with pytest.raises(programs.EvaluationError, match="was stopped"):
        programs.compiled(source, Kind.BOOL).evaluate(scope())


def test_the_evaluations_of_one_decision_have_a_bound_together() -> None:
    program = programs.compiled("call.argv.all(x, call.argv.all(y, x == '' || y.size() > 0) || true)", Kind.BOOL)
    values = Scope(call={"argv": ARGS[:64]}, config={})

    for _ in range(300):
        seconds(program, values)

    with pytest.raises(programs.EvaluationError, match="takes too much work"):
        program.evaluate(values)
    assert program.evaluate(Scope(call={"argv": ARGS[:64]}, config={}))


def test_three_hundred_ordinary_expressions_are_far_from_it() -> None:
    values = Scope(call={"argv": ["log", "--oneline", "-n5"]}, config={})
    program = programs.compiled("call.argv.all(x, x.size() > 0)", Kind.BOOL)

    assert all(program.evaluate(values) for _ in range(300))


def test_ordinary_loops_are_far_from_the_bound() -> None:
    args = [f"--option-{number}=value" for number in range(100)]
    program = programs.compiled("call.argv.all(x, config.denied.all(y, !x.startsWith(y)))", Kind.BOOL)

    assert program.evaluate(Scope(call={"argv": args}, config={"denied": ["--upload-pack", "--exec", "-c", "-C"] * 10}))


TOO_LARGE = {
    "brackets": ("(" * 33 + "1" + ")" * 33, "1:33: brackets, arguments and branches lie more than 32 deep"),
    "lists": ("[" * 33 + "]" * 33, "1:33: brackets, arguments and branches lie more than 32 deep"),
    "calls": ("size(" * 33 + "''" + ")" * 33, "1:161: brackets, arguments and branches lie more than 32 deep"),
    "branches": ("true ? 1 : " * 33 + "1", "1:353: brackets, arguments and branches lie more than 32 deep"),
    "selections": ("call" + ".a" * 70, "1:16: the expression is more than 64 levels deep"),
    "additions": (" + ".join(["1"] * 70), "1:25: the expression is more than 64 levels deep"),
    "loops": ("[1].all(a, [1].all(b, [1].all(c, true)))", "1:27: loops lie more than 2 deep in each other"),
    "a loop in the source of loops": (
        "[1].all(a, [1].all(b, [1].exists(c, true)))",
        "1:27: loops lie more than 2 deep",
    ),
    "a list": ("[" + ",".join(["1"] * 257) + "]", "1:1: a list of more than 256 elements"),
    "a map": ("{" + ",".join(f"{n}:1" for n in range(257)) + "}", "1:1: a map of more than 256 keys"),
    "a pattern": ("''.matches('" + "a" * 1025 + "')", "1:12: the pattern of matches() has more than 1024 characters"),
    "a source": ("1" + " " * 4096, "1:1: the expression has 4097 characters; it may have 4096"),
    "a number": ("9223372036854775808 > 0", "1:1: a number beyond the range of int"),
}


@pytest.mark.parametrize(("source", "message"), TOO_LARGE.values(), ids=TOO_LARGE.keys())
def test_what_is_too_large_is_refused_when_the_policy_loads(source: str, message: str) -> None:
    with pytest.raises(programs.CelError) as caught:
        programs.compiled(source, Kind.ANY)

    assert str(caught.value).startswith(message)


def test_loops_beside_each_other_are_no_deeper_than_one() -> None:
    source = "call.argv.filter(a, a != '').map(b, b + b).filter(c, c != '').all(d, [d].exists(e, e == d))"

    assert programs.compiled(source, Kind.BOOL).evaluate(Scope(call={"argv": ["git", "push"]}, config={}))


@pytest.mark.parametrize(
    "source",
    (
        "(" * 4_096,
        "[" * 4_096,
        "!" * 4_095 + "a",
        "-" * 4_095 + "1",
        "a." * 2_047 + "a",
        "a[" * 2_047,
        "'" + "a" * 4_094,
        '"""' + "\\" * 4_092,
        "1" * 4_096,
        "/" * 4_096,
        " || ".join(["'a'.matches('\\\\pL{1,8}')"] * 140),
        " && ".join(["true"] * 500),
        "nope" * 1_000,
    ),
    ids=lambda source: source[:12],
)
def test_a_hostile_source_is_judged_soon(source: str) -> None:
    begun = time.thread_time()
    with contextlib.suppress(programs.CelError):
        programs.compiled(source, Kind.ANY)

    assert time.thread_time() - begun < 5
