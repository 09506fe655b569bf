"""Command lines of ordinary programs: subcommands, flags, arguments and the double dash."""

from __future__ import annotations

import pytest

from tests.unit.core.policy.commandline.commandlines import (
    accepted,
    command,
    flags,
    named,
    parsed,
    places,
    problem,
    refused,
    slot,
    toolkit,
)
from toolcall_operator.core.policy.commandline import parser
from toolcall_operator.core.policy.commandline.values import CommandLine, ParseProblem, Reading, Role, Unparsed

SAY = toolkit(command("say"), command("pr view"))
X = toolkit(
    command(
        "x",
        named("--verbose -v"),
        named("--name", "string"),
        named("--count", "int"),
        named("--tag", "stringList"),
        named("--tags", "stringList", splitOn=","),
    ),
    flags=(named("--help -h"),),
)
MOVE = toolkit(command("move", slot("source", required=True), slot("target")))
GIT = toolkit(
    command("status"),
    command("switch", named("--create -c", "string"), slot("branch")),
    command("push", named("--force-with-lease", "string", optionalValue=True), slot("remote"), slot("ref")),
    command("clone", named("--upload-pack -u", "string"), slot("repository", required=True), slot("directory", "path")),
    command("log", named("--grep", "stringList"), slot("revision"), slot("paths", "stringList", afterDashDash=True)),
    command("checkout", slot("branch"), slot("pathspec", "stringList", afterDashDash=True)),
    flags=(
        named("--git-dir", "path"),
        named("--work-tree", "path"),
        named("-C", "path"),
        named("-c", "stringList"),
    ),
)
KUBECTL = toolkit(
    command("exec", slot("pod", required=True), slot("command", "stringList", afterDashDash=True)),
    command("run", slot("image"), slot("args", "stringList")),
    command("cat", slot("files", "stringList")),
)


# Subcommands ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("argv", "name"),
    (
        pytest.param(("say",), "say", id="one word"),
        pytest.param(("pr", "view"), "pr view", id="two words"),
    ),
)
def test_a_subcommand_is_known_by_its_words(argv: tuple[str, ...], name: str) -> None:
    line = accepted(SAY, *argv)

    assert line.subcommand.name == name
    assert line.argv == argv


def test_an_undeclared_subcommand_is_refused() -> None:
    why = refused(toolkit(command("view")), "foo")

    assert why == Unparsed(ParseProblem.UNKNOWN_SUBCOMMAND, 'unknown subcommand "foo"; there are: view', 0)


def test_without_arguments_there_is_no_subcommand_unless_the_bare_program_is_declared() -> None:
    assert refused(SAY) == Unparsed(
        ParseProblem.UNKNOWN_SUBCOMMAND, "a subcommand is missing; there are: say, pr", None
    )
    assert accepted(toolkit(command(""))).subcommand.path == ()


def test_the_longest_subcommand_counts() -> None:
    spec = toolkit(command("remote", slot("what")), command("remote add", slot("name")), command(""))

    assert accepted(spec, "remote", "add", "x").subcommand.name == "remote add"
    assert accepted(spec, "remote", "show").subcommand.name == "remote"


def test_a_subcommand_that_stops_half_way_is_refused_with_what_could_follow() -> None:
    assert refused(SAY, "pr", "list").message == 'unknown subcommand "pr list"; there are: view'
    assert refused(SAY, "pr").message == "a subcommand is missing; there are: view"
    assert refused(SAY, "pr", "-R", "x", "view").message == (
        'a flag stands within the words of a subcommand, behind "pr"; there are: view'
    )


def test_a_flag_that_is_unknown_before_the_subcommand_is_named() -> None:
    assert refused(GIT, "-Cx", "status").message.startswith(
        "before the subcommand: the value of -C must be an argument of its own; there are: status, switch"
    )


@pytest.mark.parametrize(
    "argv",
    (
        pytest.param(("remote", "-v", "add", "x"), id="behind a flag"),
        pytest.param(("remote", "--", "add"), id="behind a double dash"),
        pytest.param(("remote", "set", "x"), id="the first word of two"),
        pytest.param(("-v", "remote"), id="behind a flag of the bare program"),
    ),
)
def test_a_word_that_some_programs_read_as_a_subcommand_is_no_argument(argv: tuple[str, ...]) -> None:
    spec = toolkit(
        command("", named("-v"), slot("any", "stringList")),
        command("remote", named("-v"), slot("any", "stringList")),
        command("remote add", slot("name")),
        command("remote set url"),
    )

    assert problem(spec, *argv) is ParseProblem.UNKNOWN_SUBCOMMAND


def test_the_first_argument_alone_can_be_such_a_word() -> None:
    spec = toolkit(command("stash", slot("any", "stringList")), command("stash push"))

    assert places(spec, "stash", "x", "push") == {"any": ("x", "push")}


# Flags ----------------------------------------------------------------------------------------------------------------
def test_a_flag_without_its_value_is_refused() -> None:
    assert refused(X, "x", "--name") == Unparsed(ParseProblem.MISSING_FLAG_VALUE, "--name needs a value", 1)


def test_a_whole_number_is_one() -> None:
    assert flags(X, "x", "--count", "5") == {"count": 5}
    assert problem(X, "x", "--count", "foo") is ParseProblem.FLAG_TYPE_MISMATCH


def test_flags_have_the_values_that_follow_them() -> None:
    assert flags(X, "x", "--verbose", "--name", "ada") == {"verbose": True, "name": "ada"}


def test_a_list_has_the_values_of_every_use_and_of_every_part() -> None:
    assert flags(X, "x", "--tag", "a", "--tag", "b") == {"tag": ("a", "b")}
    assert flags(X, "x", "--tags", "a,b,c") == {"tags": ("a", "b", "c")}
    assert flags(X, "x", "--tags", "a,b", "--tags=c") == {"tags": ("a", "b", "c")}


def test_a_global_flag_may_stand_after_the_subcommand() -> None:
    line = accepted(X, "x", "--help")

    assert line.flags == {"help": True}
    assert line.readings == (Reading(0, Role.SUBCOMMAND, "x"), Reading(1, Role.GLOBAL_FLAG, "help"))


def test_global_flags_may_stand_before_the_subcommand() -> None:
    line = accepted(GIT, "--git-dir=/x/.git", "--work-tree=/x", "status")

    assert line.subcommand.name == "status"
    assert line.flags == {"git-dir": "/x/.git", "work-tree": "/x"}


@pytest.mark.parametrize(
    ("argv", "expected"),
    (
        pytest.param(("-C", "/x"), ParseProblem.UNKNOWN_SUBCOMMAND, id="no subcommand behind it"),
        pytest.param(("-C",), ParseProblem.MISSING_FLAG_VALUE, id="no value behind it"),
        pytest.param(("--bogus", "status"), ParseProblem.UNKNOWN_SUBCOMMAND, id="an unknown flag"),
        pytest.param(("-", "status"), ParseProblem.UNKNOWN_SUBCOMMAND, id="a lone dash"),
        pytest.param(("--", "status"), ParseProblem.UNKNOWN_SUBCOMMAND, id="a double dash"),
        pytest.param(("-C=/x", "status"), ParseProblem.FLAG_TYPE_MISMATCH, id="a flag written as it is not"),
    ),
)
def test_before_the_subcommand_only_global_flags_may_stand(argv: tuple[str, ...], expected: ParseProblem) -> None:
    assert problem(GIT, *argv) is expected


def test_a_flag_with_an_optional_value_leaves_the_next_argument_alone() -> None:
    line = accepted(GIT, "push", "--force-with-lease", "origin", "refs/heads/main")

    assert line.flags == {"force-with-lease": True}
    assert line.positional == {"remote": "origin", "ref": "refs/heads/main"}


def test_an_optional_value_stands_in_the_same_argument() -> None:
    assert flags(GIT, "push", "--force-with-lease=ref") == {"force-with-lease": "ref"}


# Other arguments ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "argv",
    (
        pytest.param(("move",), id="one is missing"),
        pytest.param(("move", "a", "b", "c"), id="one too many"),
    ),
)
def test_as_many_arguments_are_taken_as_are_described(argv: tuple[str, ...]) -> None:
    assert problem(MOVE, *argv) is ParseProblem.ARG_COUNT_MISMATCH


def test_what_is_missing_or_too_many_is_named() -> None:
    assert refused(MOVE, "move") == Unparsed(ParseProblem.ARG_COUNT_MISMATCH, "source is missing", None)
    assert refused(MOVE, "move", "a", "b", "c").index == 3


def test_what_follows_a_double_dash_goes_to_the_place_for_it() -> None:
    line = accepted(KUBECTL, "exec", "mypod", "--", "/bin/sh", "-c", "ls")

    assert line.positional == {"pod": "mypod", "command": ("/bin/sh", "-c", "ls")}
    assert line.tail == ("/bin/sh", "-c", "ls")
    assert line.flags == {}


def test_without_a_double_dash_the_place_behind_it_is_not_reached() -> None:
    assert problem(KUBECTL, "exec", "mypod", "ls") is ParseProblem.ARG_COUNT_MISMATCH


def test_nothing_is_a_flag_behind_a_double_dash() -> None:
    url = places(GIT, "clone", "--", "https://example.com/x.git", "x")
    smuggled = accepted(GIT, "clone", "--", "--upload-pack=/bin/sh")

    assert url == {"repository": "https://example.com/x.git", "directory": "x"}
    assert smuggled.positional == {"repository": "--upload-pack=/bin/sh"}
    assert smuggled.flags == {}


@pytest.mark.parametrize(
    ("argv", "expected"),
    (
        pytest.param(("log", "--", "a", "b"), {"paths": ("a", "b")}, id="nothing before it"),
        pytest.param(("log", "v1.0", "--", "a"), {"revision": "v1.0", "paths": ("a",)}, id="something before it"),
        pytest.param(("log", "v1.0", "--"), {"revision": "v1.0"}, id="nothing behind it"),
        pytest.param(("checkout", "--", "f"), {"pathspec": ("f",)}, id="another subcommand"),
    ),
)
def test_a_double_dash_tells_revisions_from_paths(argv: tuple[str, ...], expected: dict[str, object]) -> None:
    assert places(GIT, *argv) == expected


@pytest.mark.parametrize(
    ("argv", "files"),
    (
        pytest.param(("a", "--", "b"), ("a", "b"), id="in the middle"),
        pytest.param(("--", "a", "b"), ("a", "b"), id="first"),
        pytest.param(("a", "--", "--/etc/shadow"), ("a", "--/etc/shadow"), id="before what looks like a flag"),
        pytest.param(("a", "--", "--", "b"), ("a", "--", "b"), id="twice"),
    ),
)
def test_a_list_goes_on_behind_a_double_dash(argv: tuple[str, ...], files: tuple[str, ...]) -> None:
    line = accepted(KUBECTL, "cat", *argv)

    assert line.positional == {"files": files}
    assert line.tail == argv[argv.index("--") + 1 :]


def test_the_places_go_on_behind_a_double_dash_where_they_stopped() -> None:
    assert places(KUBECTL, "run", "img", "cmd", "--", "extra") == {"image": "img", "args": ("cmd", "extra")}
    assert places(KUBECTL, "run", "img", "--", "cmd") == {"image": "img", "args": ("cmd",)}


def test_a_letter_of_a_subcommand_hides_the_global_one() -> None:
    assert flags(GIT, "switch", "-c", "feature-x") == {"create": "feature-x"}


def test_before_the_subcommand_the_letter_is_the_global_flags() -> None:
    line = accepted(GIT, "-c", "user.name=Ada", "switch", "main")

    assert line.flags == {"c": ("user.name=Ada",)}
    assert line.positional == {"branch": "main"}


def test_the_same_letter_may_mean_both_in_one_line() -> None:
    assert flags(GIT, "-c", "a=b", "switch", "-c", "x") == {"c": ("a=b",), "create": "x"}


# What is told ---------------------------------------------------------------------------------------------------------
def test_every_argument_is_explained() -> None:
    line = accepted(GIT, "-C", "/x", "log", "--grep=a", "v1.0", "--", "-p")

    assert parser.render(line).splitlines() == [
        '"-C": global flag C',
        '"/x": value of C',
        '"log": subcommand log',
        '"--grep=a": flag grep, value of grep',
        '"v1.0": positional revision',
        '"--": end of the flags',
        '"-p": positional paths',
    ]


def test_whoever_shows_a_line_says_how_its_arguments_are_told() -> None:
    line = accepted(X, "x", "--name=secret")

    text = parser.render(line, lambda argument: argument.replace("secret", "<redacted>"))

    assert text.splitlines()[1] == "--name=<redacted>: flag name, value of name"


def test_an_argument_cannot_pretend_to_be_several_lines() -> None:
    line = accepted(KUBECTL, "cat", 'a\n"b": subcommand x\u202e\x1b[2J\\', "c" * 300)

    assert parser.render(line).splitlines()[1:] == [
        '"a\\n\\"b\\": subcommand x\\u{202e}\\u{1b}[2J\\\\": positional files',
        f'"{"c" * 64}…": positional files',
    ]


@pytest.mark.parametrize(
    "argv",
    (
        pytest.param(("x", "--name", "s3cret", "--name", "s3cret"), id="repeated"),
        pytest.param(("x", "--count=s3cret"), id="of another type"),
        pytest.param(("x", "--tags", 's3cret"'), id="a list with quotes"),
        pytest.param(("x", "--tokn=s3cret"), id="of an unknown flag"),
        pytest.param(("x", "-ps3cret"), id="attached to an unknown letter"),
        pytest.param(("x", "-v=s3cret"), id="behind a letter"),
        pytest.param(("x", "--verbose=s3cret"), id="of a flag without values"),
        pytest.param(("x", "s3cret"), id="an argument too many"),
        pytest.param(("--tokn=s3cret", "x"), id="of an unknown global flag"),
        pytest.param(("-ps3cret", "x"), id="attached to an unknown global letter"),
        pytest.param(("token=s3cret",), id="instead of a subcommand"),
    ),
)
def test_no_message_holds_a_value(argv: tuple[str, ...]) -> None:
    assert "s3cret" not in refused(X, *argv).message


def test_a_message_quotes_at_most_64_characters_of_an_argument() -> None:
    why = refused(X, "x" * 200)

    assert why.message == f'unknown subcommand "{"x" * 64}…"; there are: x'


def test_a_line_and_its_values_stay_out_of_representations() -> None:
    line = parsed(X, "x", "--name", "s3cret")

    assert isinstance(line, CommandLine)
    assert "s3cret" not in repr(line)
