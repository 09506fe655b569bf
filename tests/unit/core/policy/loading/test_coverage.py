"""Which toolspecs judge the calls of which tool, and which of them a session is left with."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core import examples
from tests.unit.core.policy.loading import policies
from toolcall_operator.api.spiceboxclass import SpiceboxClassSpec
from toolcall_operator.core.policy.loading import coverage
from toolcall_operator.core.policy.loading.coverage import NotInClass
from toolcall_operator.core.policy.loading.library import Library

FORGE = {"name": "forge", "service": {"name": "forge", "path": "/"}}
WEB = {"name": "web", "http": {"url": "https://example.com"}}


def named(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


def a_class(*toolspecs: str, tools: tuple[dict[str, Any], ...] = ()) -> SpiceboxClassSpec:
    """A class of the tools `say` and `cat`, or of these."""
    offered = tools or tuple({"name": name, "command": [name]} for name in ("say", "cat"))
    judged = {"toolspecs": named(*toolspecs)} if toolspecs else {}
    return SpiceboxClassSpec.model_validate({"resources": examples.RESOURCES, "tools": offered, **judged})


@pytest.fixture
def library() -> Library:
    """Two toolspecs of `say`, one of `cat`, and of each kind one that cannot judge."""
    found = Library()
    for tool in ("say", "cat"):
        found.put_toolkit(policies.spiceboxtoolkit(tool, name=tool))
    for name, tool in (("say-all", "say"), ("say-less", "say"), ("cat-all", "cat")):
        found.put_toolspec(policies.spiceboxtoolspec(name, toolkit={"name": tool, "revision": "1"}))
    found.put_toolspec(policies.spiceboxtoolspec("cat-broken", toolkit={"name": "cat", "revision": "1"}, version=None))
    found.put_unread_toolspec("unread", policies.UNREAD)
    return found


def test_every_program_is_told_with_the_toolspecs_that_judge_it_in_the_order_of_the_class(library: Library) -> None:
    found = coverage.coverage(a_class("say-less", "cat-all", "say-all"), library)

    assert found == {"say": ("say-less", "say-all"), "cat": ("cat-all",)}
    assert coverage.uncovered(a_class("say-less", "cat-all"), library) == ()
    assert coverage.lacking(a_class("say-less", "cat-all"), library) is None


def test_a_class_without_toolspecs_is_not_judged_and_needs_none(library: Library) -> None:
    assert coverage.coverage(a_class(), library) == {}
    assert coverage.uncovered(a_class(), library) == ()


def test_services_and_http_endpoints_need_none(library: Library) -> None:
    spec = a_class("say-all", tools=({"name": "say", "command": ["say"]}, FORGE, WEB))

    assert coverage.coverage(spec, library) == {"say": ("say-all",)}
    assert coverage.uncovered(spec, library) == ()


def test_the_tools_without_a_toolspec_are_told_with_the_reason_for_each_that_is_none(library: Library) -> None:
    spec = a_class("nobody", "cat-broken", "unread", "say-all", tools=({"name": "cat", "command": ["cat"]},))

    assert coverage.uncovered(spec, library) == ("cat",)
    assert coverage.lacking(spec, library) == (
        "spec.toolspecs has none that judges calls of cat: there is no SpiceboxToolspec nobody; "
        "cat-broken is not valid (SpecLoadFailed); unread is not valid (SpecLoadFailed); "
        "say-all speaks of say, which is no program of the class"
    )


def test_a_tool_that_nobody_speaks_of_is_told_even_if_every_toolspec_covers_another(library: Library) -> None:
    assert coverage.lacking(a_class("say-all"), library) == "spec.toolspecs has none that judges calls of cat"


def test_a_class_loses_its_coverage_with_the_toolkit(library: Library) -> None:
    library.drop_toolkit("cat")

    assert coverage.uncovered(a_class("say-all", "cat-all"), library) == ("cat",)


@pytest.mark.parametrize(
    ("chosen", "names"),
    (
        (None, ("b", "a", "c")),
        ([], ()),
        (["a"], ("a",)),
        (["c", "b"], ("c", "b")),
    ),
    ids=["not narrowed", "narrowed to nothing", "to one", "in an order of its own"],
)
def test_a_session_is_judged_by_all_of_its_class_or_by_those_it_names(
    chosen: list[str] | None, names: tuple[str, ...]
) -> None:
    session = examples.session(toolspecs=None if chosen is None else named(*chosen)).spec

    assert coverage.effective(session, a_class("b", "a", "c")) == names


def test_a_session_that_names_a_toolspec_which_its_class_lacks_is_told_all_of_them() -> None:
    session = examples.session(toolspecs=named("a", "x", "b", "y")).spec

    found = coverage.effective(session, a_class("a", "b"))

    assert found == NotInClass(("x", "y"))
    assert NotInClass(("x", "y")).message(examples.session_class()) == (
        "spec.toolspecs names what SpiceboxClass plain does not have: x, y"
    )
