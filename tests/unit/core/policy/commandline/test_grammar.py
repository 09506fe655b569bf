"""What is looked up before any command line is read."""

from __future__ import annotations

from tests.unit.core.policy.commandline.commandlines import accepted, command, flags, named, places, slot, toolkit
from toolcall_operator.core.policy.commandline import parser
from toolcall_operator.core.policy.commandline.grammar import Grammar
from toolcall_operator.core.policy.commandline.values import CommandLine


def test_one_grammar_reads_any_number_of_lines_and_remembers_none() -> None:
    grammar = Grammar.of(toolkit(command("x", named("--tag", "stringList"), slot("any", "stringList"))))
    argv = ["x", "--tag", "a", "b"]

    first, second = (parser.parse(grammar, argv) for _ in range(2))

    assert first == second
    assert isinstance(first, CommandLine)
    assert first.flags == {"tag": ("a",)}


def test_a_line_names_the_subcommand_as_its_toolkit_describes_it() -> None:
    spec = toolkit(command("x"), command("y"))

    assert accepted(spec, "y").subcommand is spec.subcommands[1]


def test_of_two_descriptions_of_one_thing_the_later_counts() -> None:
    spec = toolkit(command("x", named("--a"), named("--a", "int")), command("x", named("--a", "string")))

    assert flags(spec, "x", "--a", "b") == {"a": "b"}


def test_two_flags_under_one_name_never_mix_their_values() -> None:
    spec = toolkit(command("x", named("--n"), named("-n", "stringList")))

    assert flags(spec, "x", "--n") == {"n": True}
    assert flags(spec, "x", "-n", "a") == {"n": ("a",)}
    for argv in (("--n", "-n", "a"), ("-n", "a", "--n")):
        assert not isinstance(parser.parse(Grammar.of(spec), ["x", *argv]), CommandLine)


def test_only_a_list_takes_several_arguments_whatever_is_described() -> None:
    spec = toolkit(command("x", named("--n", "string", arity=3), slot("any", "stringList")))

    assert accepted(spec, "x", "--n", "a", "b").flags == {"n": "a"}


def test_of_two_places_behind_a_double_dash_the_first_counts() -> None:
    spec = toolkit(command("x", slot("a", afterDashDash=True), slot("b", afterDashDash=True)))

    assert places(spec, "x", "--", "1", "2") == {"a": "1", "b": "2"}


def test_many_subcommands_with_many_flags_are_looked_up_in_one_table_each() -> None:
    shared = tuple(named(f"--global-{number}") for number in range(256))
    commands = [command(f"group{n % 8} sub{n}", *(named(f"--own-{m}") for m in range(8))) for n in range(128)]
    spec = toolkit(*commands, flags=shared)

    line = accepted(spec, "--global-255", "group7", "sub127", "--own-7", "--global-0")

    assert line.flags == {"global-255": True, "own-7": True, "global-0": True}
