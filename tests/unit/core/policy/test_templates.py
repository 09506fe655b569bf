"""Templates of effects, filled in with what a call gives."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.core.policy import templates
from toolcall_operator.core.policy.commandline.values import Value
from toolcall_operator.core.policy.templates import MOST_ENTRIES, Sources

URL = "https://api.example.com/x"


def sources(
    flags: Mapping[str, Value] | None = None,
    positional: Mapping[str, Value] | None = None,
    env: Mapping[str, str] | None = None,
) -> Sources:
    """What a call gives."""
    return Sources(flags or {}, positional or {}, env or {}, "/workspace")


@pytest.mark.parametrize(
    ("text", "found"),
    (
        pytest.param("github.com", ("github.com",), id="plain text"),
        pytest.param("{flag:output}", ("a.txt",), id="flag"),
        pytest.param("{positional:url}", (URL,), id="argument"),
        pytest.param("{env:API_HOST}", ("api.example.com",), id="variable"),
        pytest.param("{cwd}", ("/workspace",), id="folder"),
        pytest.param("{cwd}/{flag:output}", ("/workspace/a.txt",), id="several parts"),
        pytest.param("{flag:depth}", ("3",), id="number"),
        pytest.param("{positional:paths}", ("a", "b"), id="list"),
        pytest.param("{flag:file}/{positional:paths}", ("x/a", "x/b", "y/a", "y/b"), id="two lists"),
        pytest.param("{positional:url|host}", ("api.example.com",), id="host"),
        pytest.param("{flag:missing}", (), id="absent flag"),
        pytest.param("{positional:missing}/x", (), id="absent argument"),
        pytest.param("{flag:missing|host}", (), id="host of an absent flag"),
        pytest.param("{flag:missing|or:origin}", ("origin",), id="instead of an absent flag"),
        pytest.param("{flag:missing|or:https://a.example/x|host}", ("a.example",), id="host of what stands instead"),
        pytest.param("{flag:output|or:b.txt}", ("a.txt",), id="not instead of one that is there"),
        pytest.param("{flag:nothing|or:.}", (".",), id="instead of an empty list"),
    ),
)
def test_a_template_gives_what_the_call_gives(text: str, found: tuple[str, ...]) -> None:
    given = sources(
        flags={"output": "a.txt", "depth": 3, "file": ("x", "y"), "nothing": ()},
        positional={"url": URL, "paths": ("a", "b")},
        env={"API_HOST": "api.example.com"},
    )

    assert templates.compiled(text).filled(given) == (found, "")


@pytest.mark.parametrize(
    "text",
    (
        pytest.param("{env:API_HOST}", id="variable that nobody is known to set"),
        pytest.param("{positional:url|host}", id="no URL"),
        pytest.param("{positional:urls|host}", id="one of several is no URL"),
        pytest.param("{flag:force}", id="flag without its value"),
        pytest.param("{unknown:x}", id="unknown kind"),
        pytest.param("{flag}", id="kind without a name"),
        pytest.param("{}", id="nothing"),
        pytest.param("x{flag:url", id="not closed"),
        pytest.param("flag:url}", id="not opened"),
        pytest.param("{flag:{cwd}}", id="one in the other"),
        pytest.param("{cwd:x}", id="a name too many"),
        pytest.param("{cwd|or:x}", id="what is always there"),
        pytest.param("{env:A|or:x}", id="a variable may be set where nobody sees it"),
        pytest.param("{flag:x|or:}", id="nothing instead"),
        pytest.param("{flag:x|upper}", id="unknown filter"),
        pytest.param("{env:A-B}", id="no name of a variable"),
    ),
)
def test_what_cannot_be_told_is_a_problem_and_no_text(text: str) -> None:
    given = sources(flags={"force": True, "url": URL}, positional={"url": "local/path", "urls": (URL, "x")})

    found = templates.compiled(text).filled(given)

    assert found.texts == ()
    assert "cannot be told" in found.problem


def test_a_template_never_stands_for_more_than_can_be_judged() -> None:
    many = tuple(map(str, range(33)))
    found = templates.compiled("{flag:a}{flag:b}").filled(sources(flags={"a": many, "b": many}))

    assert found == ((), f"{{flag:a}}{{flag:b}} stands for more than {MOST_ENTRIES} texts")


@pytest.mark.parametrize(
    ("folder", "path", "found"),
    (
        pytest.param("src", "a", ("src/a",), id="below"),
        pytest.param("src", "/etc/passwd", ("src//etc/passwd", "/etc/passwd"), id="from the root"),
        pytest.param("src", "~/.ssh/id", ("src/~/.ssh/id", "~/.ssh/id"), id="from home"),
        pytest.param("/src", "a", ("/src/a",), id="folder from the root"),
    ),
)
def test_a_path_behind_a_folder_is_judged_in_both_readings(folder: str, path: str, found: tuple[str, ...]) -> None:
    given = sources(flags={"C": folder}, positional={"path": path})

    assert templates.compiled("{flag:C}/{positional:path}").as_paths(given) == (found, "")


@pytest.mark.parametrize(
    "text",
    (
        "github.com",
        "{flag:url}",
        "{positional:paths|or:.}",
        "{flag:url|host}",
        "{flag:url|or:x.example|host}",
        "{env:API_HOST|host}",
        "{cwd}/x",
    ),
)
def test_nothing_speaks_against_a_sound_template(text: str) -> None:
    assert templates.objections(text, {"url"}, {"paths"}) is None


@pytest.mark.parametrize(
    ("text", "objection"),
    (
        ("{flag:nope}", "{flag:nope} names no flag that the subcommand has"),
        ("x/{positional:url}", "{positional:url} names no positional that the subcommand has"),
        ("{host}", "{host} is no part of a template"),
        ("{cwd|host}", "{cwd|host} is no part of a template"),
        ("{env:A|or:b}", "{env:A|or:b} is no part of a template"),
        ("a{", "a{ is no part of a template"),
        ("}a", "}a is no part of a template"),
    ),
)
def test_an_objection_names_the_part(text: str, objection: str) -> None:
    found = templates.objections(text, {"url"}, {"paths"})

    assert found is not None
    assert found.startswith(objection)


@given(st.lists(st.sampled_from(("{", "}", "|", ":", "a", "flag:x", "env:X", "cwd", "|host", "|or:y")), max_size=12))
def test_what_is_not_objected_to_can_be_filled(words: list[str]) -> None:
    text = "".join(words)

    found = templates.compiled(text).filled(sources({"x": "https://a.example"}, env={"X": "https://b.example"}))

    assert bool(found.problem) == (templates.objections(text, {"x"}, ()) is not None)


def test_a_template_knows_what_it_is_filled_from() -> None:
    template = templates.compiled("{flag:x|host}/{env:Y}")

    assert template.names("flag", "x")
    assert template.names("env", "Y")
    assert not template.names("positional", "x")
