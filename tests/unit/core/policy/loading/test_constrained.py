"""Which flags constraints speak of."""

from __future__ import annotations

import pytest

from toolcall_operator.core.policy.cel import programs
from toolcall_operator.core.policy.cel.programs import Kind
from toolcall_operator.core.policy.loading import constrained

WANTED = frozenset({"a", "b", "c", "force", "upload-pack"})


@pytest.mark.parametrize(
    ("source", "names"),
    (
        ("call.flag('c') == ''", {"c"}),
        ('!call.hasFlag("upload-pack")', {"upload-pack"}),
        ("!has(call.flags.force)", {"force"}),
        ("call.flags['c'].all(each, each.startsWith('user.'))", {"c"}),
        ("!('c' in call.flags)", {"c"}),
        ("call.subcommand != 'push' || (call.hasFlag('a') && call.flags.b == true)", {"a", "b"}),
        # These have the text in them, and do not speak of the flag.
        ("call.subcommand == 'c'", set()),
        ("call.positional['c'] == 'c'", set()),
        ("call.hasEnv('c')", set()),
        ("config.flags.c == 'c'", set()),
        ("'c' in call.argv", set()),
        ("size(call.flags) == 0", set()),
    ),
)
def test_a_constraint_speaks_of_the_flags_that_it_names(source: str, names: set[str]) -> None:
    assert constrained.flags([programs.compiled(source, Kind.BOOL)], WANTED) == names


def test_several_constraints_speak_of_all_their_flags() -> None:
    sources = ("call.flag('a') == ''", "call.flag('b') == ''")

    assert constrained.flags((programs.compiled(source, Kind.BOOL) for source in sources), WANTED) == {"a", "b"}
    assert constrained.flags((), WANTED) == frozenset()


def test_only_the_flags_in_question_are_told() -> None:
    program = programs.compiled("call.flag('a') == '' && call.flag('b') == ''", Kind.BOOL)

    assert constrained.flags([program], frozenset({"b", "c"})) == {"b"}
    assert constrained.flags([program], frozenset()) == frozenset()
