"""How flags may be written, and where they end."""

from __future__ import annotations

import pytest

from tests.unit.core.policy.commandline.commandlines import (
    JOINED,
    accepted,
    command,
    flags,
    named,
    places,
    problem,
    refused,
    slot,
    toolkit,
)
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkitSpec
from toolcall_operator.core.policy.commandline.values import ParseProblem, Reading, Role

PARTS = (
    named("--all -a"),
    named("--long -l"),
    named("--number -n", "int"),
    named("--regexp -e", "stringList"),
    named("--color -M", "string", optionalValue=True),
    named("--arg -A", "stringList", arity=2),
    slot("files", "stringList"),
)
PLAIN = toolkit(command("ls", *PARTS))
BUNDLED = toolkit(command("ls", *PARTS), bundledShorts=True)
ATTACHED = toolkit(command("ls", *PARTS), attachedValues=True)
GNU = toolkit(command("ls", *PARTS), **JOINED)

UNKNOWN = ParseProblem.UNKNOWN_FLAG
MISMATCH = ParseProblem.FLAG_TYPE_MISMATCH


# Letters in one argument ----------------------------------------------------------------------------------------------
def test_letters_are_joined_where_the_program_joins_them() -> None:
    assert flags(BUNDLED, "ls", "-la") == {"long": True, "all": True}
    assert problem(PLAIN, "ls", "-la") is UNKNOWN
    assert problem(ATTACHED, "ls", "-la") is UNKNOWN


def test_a_value_is_attached_where_the_program_takes_it() -> None:
    assert flags(ATTACHED, "ls", "-n5") == {"number": 5}
    assert flags(ATTACHED, "ls", "-n-5") == {"number": -5}
    assert flags(ATTACHED, "ls", "-ex=y") == {"regexp": ("x=y",)}
    assert problem(PLAIN, "ls", "-n5") is UNKNOWN
    assert problem(BUNDLED, "ls", "-n5") is UNKNOWN


def test_the_last_of_joined_letters_may_take_a_value() -> None:
    line = accepted(GNU, "ls", "-lan", "5", "x")

    assert line.flags == {"long": True, "all": True, "number": 5}
    assert line.positional == {"files": ("x",)}
    assert flags(GNU, "ls", "-lan5") == line.flags
    assert flags(BUNDLED, "ls", "-lan", "5") == line.flags
    assert line.readings[1:5] == (
        Reading(1, Role.FLAG, "long"),
        Reading(1, Role.FLAG, "all"),
        Reading(1, Role.FLAG, "number"),
        Reading(2, Role.VALUE, "number"),
    )


def test_what_follows_a_letter_with_a_value_is_the_value_and_no_letter() -> None:
    assert flags(GNU, "ls", "-ela") == {"regexp": ("la",)}
    assert problem(BUNDLED, "ls", "-ela") is UNKNOWN
    assert problem(GNU, "ls", "-nla") is MISMATCH


@pytest.mark.parametrize("spec", (PLAIN, BUNDLED, ATTACHED, GNU))
@pytest.mark.parametrize("argument", ("-n=5", "-e=x", "-e=", "-M=x", "-a=true", "-A=x"))
def test_a_letter_followed_by_an_equals_sign_is_refused_as_programs_differ(
    spec: SpiceboxToolkitSpec, argument: str
) -> None:
    assert problem(spec, "ls", argument) is MISMATCH


@pytest.mark.parametrize(("argument", "value"), (("-o=json", "json"), ("-ao=json", "json"), ("-o==", "="), ("-o=", "")))
def test_the_equals_sign_is_no_part_of_the_value_where_the_program_drops_it(argument: str, value: str) -> None:
    known = toolkit(command("", named("-o", "string"), named("-a")), bundledShorts=True, attachedEquals=True)

    assert flags(known, argument)["o"] == value
    assert problem(known, "-ojson") is UNKNOWN


def test_global_flags_behind_the_subcommand_are_unknown_where_the_program_reads_none_there() -> None:
    known = toolkit(command("status"), flags=(named("-C", "string"),), globalFlagsAt="BeforeSubcommand")

    assert flags(known, "-C", "x", "status") == {"C": "x"}
    assert problem(known, "status", "-C", "x") is UNKNOWN


def test_the_equals_sign_is_refused_behind_joined_letters_too() -> None:
    assert problem(GNU, "ls", "-lan=5") is MISMATCH
    assert problem(GNU, "ls", "-l=an") is MISMATCH


@pytest.mark.parametrize(
    "argument", ("-x", "-lx", "-xl", "-5", "-é", "-l-", "---all", "--=x", "-l a", "- ", "-\n", "--all ")
)
def test_one_unknown_letter_makes_the_argument_unknown(argument: str) -> None:
    assert problem(GNU, "ls", argument) is UNKNOWN


def test_a_letter_with_an_optional_value_takes_only_what_is_attached() -> None:
    assert accepted(GNU, "ls", "-M", "50").positional == {"files": ("50",)}
    assert flags(GNU, "ls", "-lM") == {"long": True, "color": True}
    assert flags(GNU, "ls", "-lM50") == {"long": True, "color": "50"}
    assert problem(BUNDLED, "ls", "-Ml") is UNKNOWN


def test_a_letter_with_several_values_is_not_joined() -> None:
    assert flags(GNU, "ls", "-A", "x", "y") == {"arg": ("x", "y")}
    assert problem(GNU, "ls", "-Ax", "y") is UNKNOWN
    assert problem(GNU, "ls", "-lA", "x", "y") is UNKNOWN


def test_at_most_64_letters_are_joined() -> None:
    assert flags(BUNDLED, "ls", "-" + "a" * 64) == {"all": True}
    assert problem(BUNDLED, "ls", "-" + "a" * 65) is UNKNOWN


# Long names -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("argument", ("--upl=x", "--upload", "--upload-pack-x=y", "--Upload-pack=x", "-upload-pack"))
def test_a_long_name_is_never_abbreviated_or_lengthened(argument: str) -> None:
    spec = toolkit(command("clone", named("--upload-pack", "string"), slot("url")))

    assert problem(spec, "clone", argument) is UNKNOWN


def test_the_value_behind_an_equals_sign_is_everything_behind_the_first() -> None:
    assert flags(PLAIN, "ls", "--regexp=a=b=") == {"regexp": ("a=b=",)}
    assert flags(PLAIN, "ls", "--regexp=") == {"regexp": ("",)}
    assert flags(PLAIN, "ls", "--color=") == {"color": ""}


def test_a_flag_takes_the_next_argument_whatever_it_looks_like() -> None:
    assert flags(PLAIN, "ls", "--regexp", "--") == {"regexp": ("--",)}
    assert flags(PLAIN, "ls", "--regexp", "--all", "-e", "-a") == {"regexp": ("--all", "-a")}
    assert flags(PLAIN, "ls", "--number", "-5") == {"number": -5}
    assert flags(PLAIN, "ls", "--arg", "--", "-a") == {"arg": ("--", "-a")}


def test_the_double_dash_behind_such_a_value_still_ends_the_flags() -> None:
    line = accepted(PLAIN, "ls", "--regexp", "--", "--", "--all")

    assert line.flags == {"regexp": ("--",)}
    assert line.positional == {"files": ("--all",)}


def test_a_flag_without_values_is_refused_with_one() -> None:
    assert refused(PLAIN, "ls", "--all=true").problem is MISMATCH
    assert refused(PLAIN, "ls", "--all=").problem is MISMATCH


def test_a_flag_with_several_values_takes_them_from_the_next_arguments_only() -> None:
    assert flags(PLAIN, "ls", "--arg", "a", "1", "--arg", "b", "2") == {"arg": ("a", "1", "b", "2")}
    assert problem(PLAIN, "ls", "--arg=a", "1") is MISMATCH
    assert refused(PLAIN, "ls", "--arg", "a").message == "--arg needs 2 values"


def test_a_lone_dash_is_an_argument_and_no_flag() -> None:
    assert places(GNU, "ls", "-", "-l", "-") == {"files": ("-", "-")}


# Values ---------------------------------------------------------------------------------------------------------------
def test_numbers_keep_within_their_bounds() -> None:
    spec = toolkit(command("x", named("-n", "int", minimum=1, maximum=9), named("--big", "int")))

    assert flags(spec, "x", "-n", "9") == {"n": 9}
    assert problem(spec, "x", "-n", "0") is MISMATCH
    assert refused(spec, "x", "-n", "10").message == (
        "the value of -n must be a whole number of at least 1 and of at most 9"
    )
    assert flags(spec, "x", "--big", "9223372036854775807") == {"big": 2**63 - 1}
    assert problem(spec, "x", "--big", "9223372036854775808") is MISMATCH


def test_an_enumerated_value_is_one_of_those_listed() -> None:
    spec = toolkit(
        command("x", named("--output -o", "enum", values=["json", "yaml"]), slot("what", "enum", values=["a"]))
    )

    assert flags(spec, "x", "--output=json") == {"output": "json"}
    assert refused(spec, "x", "-o", "JSON").problem is ParseProblem.ENUM_VALUE_INVALID
    assert refused(spec, "x", "-o", "xml").message == 'the value of --output must be one of "json", "yaml"'
    assert problem(spec, "x", "--output=") is ParseProblem.ENUM_VALUE_INVALID
    assert problem(spec, "x", "b") is ParseProblem.ENUM_VALUE_INVALID


def test_a_list_that_some_programs_would_unquote_is_refused() -> None:
    spec = toolkit(command("x", named("--tags", "stringList", splitOn=",")))

    assert problem(spec, "x", "--tags", '"a,b",c') is MISMATCH
    assert flags(spec, "x", "--tags", "a,,b,") == {"tags": ("a", "", "b", "")}


@pytest.mark.parametrize(
    "argv",
    (
        pytest.param(("--number", "1", "--number", "1"), id="a number"),
        pytest.param(("--number=1", "-n", "2"), id="under two names"),
        pytest.param(("--color", "--color=x"), id="without and with its value"),
        pytest.param(("--color=x", "--color"), id="with and without its value"),
    ),
)
def test_a_flag_with_one_value_is_given_once_as_programs_take_the_first_or_the_last(argv: tuple[str, ...]) -> None:
    assert problem(PLAIN, "ls", *argv) is ParseProblem.REPEATED_FLAG


def test_a_flag_without_a_value_may_be_repeated() -> None:
    assert flags(GNU, "ls", "-aa", "--all", "--color", "--color") == {"all": True, "color": True}


def test_a_flag_before_and_after_the_subcommand_is_one_flag() -> None:
    spec = toolkit(
        command("x"), flags=(named("--config", "string"), named("--set", "stringList"), named("--verbose -v"))
    )

    assert problem(spec, "--config=a", "x", "--config=b") is ParseProblem.REPEATED_FLAG
    assert flags(spec, "--set=a", "-v", "x", "--set=b", "-v") == {"set": ("a", "b"), "verbose": True}


# Where flags end ------------------------------------------------------------------------------------------------------
SCRIPT = toolkit(
    command(
        "",
        named("-I"),
        named("-c", "string", endsFlags=True),
        named("--rest -r", endsFlags=True),
        slot("script", "path"),
        slot("args", "stringList"),
        slot("code_args", "stringList", afterDashDash=True),
    ),
    **JOINED,
    flagsEnd="AtFirstPositional",
)


def test_after_the_first_argument_nothing_is_a_flag_where_the_program_stops_there() -> None:
    line = accepted(SCRIPT, "-I", "script.py", "-c", "-I", "--", "x")

    assert line.flags == {"I": True}
    assert line.positional == {"script": "script.py", "args": ("-c", "-I", "--", "x")}
    assert line.tail == ()


@pytest.mark.parametrize("argv", (("-c", "CODE"), ("-cCODE",), ("-Ic", "CODE"), ("-IcCODE",)))
def test_after_a_flag_that_ends_the_flags_everything_is_handed_on(argv: tuple[str, ...]) -> None:
    line = accepted(SCRIPT, *argv, "a", "-I", "--", "-c")

    assert line.flags["c"] == "CODE"
    assert line.positional == {"code_args": ("a", "-I", "--", "-c")}
    assert line.tail == ("a", "-I", "--", "-c")


def test_letters_behind_one_that_ends_the_flags_are_refused() -> None:
    assert flags(SCRIPT, "-Ir", "-I") == {"I": True, "rest": True}
    assert problem(SCRIPT, "-rI") is UNKNOWN


def test_a_subcommand_says_for_itself_where_its_flags_end() -> None:
    own = command("x", named("-v"), slot("any", "stringList"), flagsEnd="AtFirstPositional")
    back = command("x", named("-v"), slot("any", "stringList"), flagsEnd="AtDoubleDash")

    assert flags(toolkit(own), "x", "a", "-v") == {}
    assert flags(toolkit(back, flagsEnd="AtFirstPositional"), "x", "a", "-v") == {"v": True}


def test_a_lone_dash_ends_the_flags_like_any_argument() -> None:
    assert places(SCRIPT, "-", "-I") == {"script": "-", "args": ("-I",)}


def test_a_global_flag_that_ends_the_flags_leaves_no_room_for_a_subcommand() -> None:
    rest = named("-r", endsFlags=True)

    assert problem(toolkit(command("x"), flags=(rest,)), "-r", "x") is ParseProblem.UNKNOWN_SUBCOMMAND
    assert places(toolkit(command("", slot("any")), flags=(rest,)), "-r", "x") == {"any": "x"}


def test_a_program_that_knows_no_double_dash_is_given_none() -> None:
    spec = toolkit(command("x", named("--name", "string"), slot("any", "stringList")), doubleDash="Refused")

    assert "does not keep what follows from being read as flags" in refused(spec, "x", "--", "a").message
    assert flags(spec, "x", "--name", "--") == {"name": "--"}


def test_a_subcommand_that_hands_on_what_follows_a_double_dash_is_given_none() -> None:
    spec = toolkit(command("pull", slot("any", "stringList"), doubleDash="Refused"), command("log", slot("any")))

    assert problem(spec, "pull", "--", "--upload-pack=x") is UNKNOWN
    assert places(spec, "log", "--", "-x") == {"any": "-x"}


# Two scopes -----------------------------------------------------------------------------------------------------------
HIDING = toolkit(
    command("x", named("--mode -m", "string"), named("--fast -q")),
    command("y"),
    flags=(named("--mode -M", "int"), named("--quiet -q")),
)


def test_a_flag_of_the_subcommand_hides_the_global_one_of_its_name_with_its_letter() -> None:
    assert flags(HIDING, "x", "--mode=a") == {"mode": "a"}
    assert problem(HIDING, "x", "-M", "5") is UNKNOWN
    assert flags(HIDING, "y", "-M", "5") == {"mode": 5}


def test_a_hidden_flag_may_not_stand_before_the_subcommand_either() -> None:
    assert refused(HIDING, "--mode=5", "x").problem is UNKNOWN
    assert flags(HIDING, "--mode=5", "y") == {"mode": 5}


def test_a_letter_alone_can_be_hidden() -> None:
    assert flags(HIDING, "-q", "x", "-q", "--quiet") == {"quiet": True, "fast": True}


def test_before_a_subcommand_the_flags_of_the_bare_program_are_its_own() -> None:
    spec = toolkit(command("", named("--fast -q"), slot("any")), command("x"), flags=(named("--quiet -q"),))

    assert flags(spec, "-q") == {"fast": True}
    assert problem(spec, "-q", "x") is ParseProblem.UNKNOWN_SUBCOMMAND
    assert flags(spec, "--quiet", "x") == {"quiet": True}


# Places ---------------------------------------------------------------------------------------------------------------
def test_arguments_are_of_the_type_of_their_place() -> None:
    spec = toolkit(command("x", slot("count", "int", minimum=1), slot("really", "bool"), slot("url", "url")))

    assert places(spec, "x", "5", "true", "https://a/") == {"count": 5, "really": True, "url": "https://a/"}
    assert refused(spec, "x", "0").message == "count must be a whole number of at least 1"
    assert problem(spec, "x", "-") is ParseProblem.ARGUMENT_TYPE_MISMATCH
    assert problem(spec, "x", "1", "yes") is ParseProblem.ARGUMENT_TYPE_MISMATCH
    assert problem(spec, "x", "1", "false", "-") is ParseProblem.ARGUMENT_TYPE_MISMATCH
    assert problem(spec, "x", "--", "-5") is ParseProblem.ARGUMENT_TYPE_MISMATCH


def test_a_list_takes_all_that_is_left_before_a_double_dash_and_another_all_behind_it() -> None:
    spec = toolkit(
        command("log", slot("first"), slot("revisions", "stringList"), slot("paths", "stringList", afterDashDash=True))
    )

    assert places(spec, "log", "a", "b", "c", "--", "d", "e") == {
        "first": "a",
        "revisions": ("b", "c"),
        "paths": ("d", "e"),
    }


def test_a_list_that_is_not_the_last_place_takes_one_argument() -> None:
    spec = toolkit(command("get", slot("kinds", "stringList", splitOn=","), slot("names", "stringList")))

    assert places(spec, "get", "pods,svc", "a", "b") == {"kinds": ("pods", "svc"), "names": ("a", "b")}


def test_a_required_list_has_at_least_one_element() -> None:
    spec = toolkit(command("cat", slot("files", "stringList", required=True)))

    assert problem(spec, "cat") is ParseProblem.ARG_COUNT_MISMATCH
    assert problem(spec, "cat", "--") is ParseProblem.ARG_COUNT_MISMATCH
    assert places(spec, "cat", "") == {"files": ("",)}


# What is no text ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("argument", ("a\0b", "\0", "-l\0", "--regexp=\0", "a\udcff", "\ud800é"))
def test_what_no_process_can_be_given_is_refused_where_it_stands(argument: str) -> None:
    why = refused(GNU, "ls", "é", argument, "x")

    assert why.problem is ParseProblem.ARGUMENT_TYPE_MISMATCH
    assert (why.message, why.index) == ("argument 3 is no text", 2)


def test_text_of_any_script_is_text() -> None:
    assert places(GNU, "ls", "naïve ☃ 𝄞", "\u2013l", "\u2212n") == {"files": ("naïve ☃ 𝄞", "\u2013l", "\u2212n")}
