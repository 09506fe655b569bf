"""What judges calls, kept in step with the objects: each read once for each version, and nothing else touched."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api.manifests import subcommand
from tests.unit.core.policy.loading import policies
from toolcall_operator.core.policy.loading.library import Library
from toolcall_operator.core.policy.loading.reasons import Objection, PolicyReason
from toolcall_operator.core.policy.loading.toolkits import Toolkit
from toolcall_operator.core.policy.loading.toolspecs import Toolspec

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


@pytest.fixture
def library() -> Library:
    return Library()


def reason(found: object) -> PolicyReason | None:
    """Why something cannot be used; None if it can."""
    assert found is not None
    return found.reason if isinstance(found, Objection) else None


def put(library: Library, tool: str, **spec: Any) -> frozenset[str]:  # noqa: ANN401 (fields of a manifest)
    """A toolkit of a tool, and a toolspec for it, both of that name."""
    changed = library.put_toolkit(policies.spiceboxtoolkit(tool, name=tool))
    return changed | library.put_toolspec(
        policies.spiceboxtoolspec(tool, **{"toolkit": {"name": tool, "revision": "1"}, **spec})
    )


def test_what_nobody_put_in_is_not_there(library: Library) -> None:
    assert library.toolkit("one") is None
    assert library.toolspec("one") is None
    assert (library.drop_toolkit("one"), library.drop_toolspec("one")) == (frozenset(), frozenset())


def test_a_toolspec_finds_its_toolkit_in_whichever_order_they_come(library: Library) -> None:
    assert library.put_toolspec(policies.spiceboxtoolspec()) == {"one"}
    assert reason(library.toolspec("one")) is PolicyReason.TOOLKIT_MISSING

    assert library.put_toolkit(policies.spiceboxtoolkit()) == {"one"}

    found = library.toolspec("one")
    assert isinstance(found, Toolspec)
    assert found.toolkit is library.toolkit("one")


def test_a_toolspec_loses_its_toolkit(library: Library) -> None:
    put(library, "say")

    assert library.drop_toolkit("say") == {"say"}

    assert library.toolkit("say") is None
    assert library.toolspec("say") == Objection(
        PolicyReason.TOOLKIT_MISSING, "spec.toolkit names say, which no SpiceboxToolkit describes"
    )


def test_a_toolspec_of_another_revision_is_told_which_there_are(library: Library) -> None:
    library.put_toolspec(policies.spiceboxtoolspec(toolkit={"name": "say", "revision": "3"}))
    for revision in ("2", "1"):
        library.put_toolkit(policies.spiceboxtoolkit(f"say-{revision}", toolkitRevision=revision))
    assert library.toolspec("one") == Objection(
        PolicyReason.TOOLKIT_MISSING,
        "spec.toolkit names revision 3 of say, which no SpiceboxToolkit describes; there is 1, 2",
    )

    assert library.drop_toolkit("say-1") == {"one"}

    assert "there is 2" in library.toolspec("one").message  # type: ignore[union-attr] # it has no toolkit
    assert library.put_toolkit(policies.spiceboxtoolkit("say-2", toolkitRevision="3")) == {"one"}
    assert reason(library.toolspec("one")) is None


def test_a_toolspec_of_a_toolkit_that_is_not_valid_is_told_so(library: Library) -> None:
    put(library, "say")

    assert library.put_toolkit(policies.spiceboxtoolkit("say", version=None)) == {"say"}

    assert library.toolkit("say") == Objection(PolicyReason.SPEC_LOAD_FAILED, "spec.version is required")
    assert library.toolspec("say") == Objection(
        PolicyReason.TOOLKIT_MISSING,
        "spec.toolkit is SpiceboxToolkit say, which is not valid: spec.version is required",
    )


def test_what_cannot_be_read_is_told_as_such_and_hinders_nothing_else(library: Library) -> None:
    put(library, "say")
    put(library, "cat")

    assert library.put_unread_toolkit("say", policies.UNREAD) == {"say"}
    assert library.put_unread_toolspec("cat", policies.UNREAD) == {"cat"}

    assert reason(library.toolkit("say")) is PolicyReason.SPEC_LOAD_FAILED
    assert reason(library.toolspec("say")) is PolicyReason.TOOLKIT_MISSING
    assert reason(library.toolspec("cat")) is PolicyReason.SPEC_LOAD_FAILED
    assert reason(library.toolkit("cat")) is None
    assert library.put_unread_toolspec("cat", policies.UNREAD) == frozenset()
    assert library.put_unread_toolkit("say", policies.UNREAD) == frozenset()
    assert library.drop_toolspec("cat") == {"cat"}
    assert library.toolspec("cat") is None


@pytest.mark.parametrize(
    ("made", "first"), (((EARLY, LATE), "b"), ((LATE, EARLY), "a"), ((EARLY, EARLY), "a")), ids=["b", "a", "by name"]
)
def test_of_two_toolkits_of_one_tool_and_revision_the_older_counts_then_the_first_by_name(
    library: Library, made: tuple[str, str], first: str
) -> None:
    library.put_toolspec(policies.spiceboxtoolspec())
    library.put_toolkit(policies.spiceboxtoolkit("b", made=made[0]))
    assert library.put_toolkit(policies.spiceboxtoolkit("a", made=made[1])) == {"one"}

    found, other = library.toolspec("one"), "a" if first == "b" else "b"

    assert isinstance(found, Toolspec)
    assert found.toolkit.resource == first
    taken = library.toolkit(other)
    assert isinstance(taken, Objection)
    assert taken.reason is PolicyReason.NAME_TAKEN
    assert taken.message == (
        f"spec.name and spec.toolkitRevision are those of SpiceboxToolkit {first}, which came before it"
    )


def test_the_second_toolkit_counts_once_the_first_is_gone(library: Library) -> None:
    put(library, "say")
    library.put_toolkit(policies.spiceboxtoolkit("younger", made=LATE))
    assert reason(library.toolkit("younger")) is PolicyReason.NAME_TAKEN

    assert library.drop_toolkit("say") == {"say"}

    found = library.toolspec("say")
    assert isinstance(library.toolkit("younger"), Toolkit)
    assert isinstance(found, Toolspec)
    assert found.toolkit.resource == "younger"


def test_a_toolkit_that_counts_is_not_replaced_because_it_is_broken(library: Library) -> None:
    put(library, "say")
    library.put_toolkit(policies.spiceboxtoolkit("younger", made=LATE))

    library.put_toolkit(policies.spiceboxtoolkit("say", version=None))

    assert reason(library.toolkit("younger")) is PolicyReason.NAME_TAKEN
    assert reason(library.toolspec("say")) is PolicyReason.TOOLKIT_MISSING


def test_nothing_is_read_before_it_is_asked_for_or_twice(library: Library) -> None:
    put(library, "say")
    assert library.compiled == 0

    first = library.toolspec("say")

    assert library.compiled == 2
    assert library.toolspec("say") is first
    assert isinstance(first, Toolspec)
    assert library.toolkit("say") is first.toolkit
    assert library.compiled == 2


def test_an_object_with_the_same_spec_is_not_read_again_and_is_no_news(library: Library) -> None:
    put(library, "say")
    first = library.toolspec("say")

    assert put(library, "say") == frozenset()

    assert library.toolspec("say") is first
    assert library.compiled == 2


def test_a_change_touches_what_refers_to_it_and_nothing_else(library: Library) -> None:
    for tool in ("say", "cat"):
        put(library, tool)
    library.put_toolspec(policies.spiceboxtoolspec("say-less", allowSubcommands=[]))
    library.put_toolspec(policies.spiceboxtoolspec("say-later", toolkit={"name": "say", "revision": "2"}))
    found = {name: library.toolspec(name) for name in ("say", "cat", "say-less", "say-later")}
    before = library.compiled

    assert library.put_toolspec(policies.spiceboxtoolspec("say", allowSubcommands=["loud"])) == {"say"}
    assert library.toolspec("say") is not found["say"]
    assert library.compiled == before + 1

    changed = policies.spiceboxtoolkit("cat", name="cat", subcommands=[subcommand("loud")])
    assert library.put_toolkit(changed) == {"cat"}
    assert reason(library.toolspec("cat")) is PolicyReason.UNKNOWN_SUBCOMMAND
    assert [library.toolspec(name) is found[name] for name in ("say-less", "say-later")] == [True, True]
    assert library.compiled == before + 3


def test_a_toolspec_that_moves_to_another_tool_follows_that_one(library: Library) -> None:
    put(library, "say")
    put(library, "cat")
    library.put_toolspec(policies.spiceboxtoolspec("say", toolkit={"name": "cat", "revision": "1"}))

    assert library.drop_toolkit("say") == frozenset()
    assert library.drop_toolkit("cat") == {"say", "cat"}


def test_everything_that_speaks_against_a_toolspec_begins_with_what_is_told_of_it(library: Library) -> None:
    put(library, "say", version=None, constraints=[{"cel": "nobody"}])
    put(library, "cat")

    found = library.objections("say")

    assert [each.reason for each in found] == [PolicyReason.SPEC_LOAD_FAILED, PolicyReason.CEL_COMPILE_ERROR]
    assert found[0] == library.toolspec("say")
    assert (library.objections("cat"), library.objections("nobody")) == ((), ())


def test_a_thousand_toolspecs_of_ten_constraints_are_each_read_once(library: Library) -> None:
    """Each has two constraints of its own, and eight that stand in many."""
    flags = [{"long": f"flag-{index}", "type": "string", "requiresConstraint": index == 0} for index in range(200)]
    library.put_toolkit(policies.spiceboxtoolkit(globalFlags=flags))
    shared = [{"cel": f"call.flag('flag-{index}').startsWith('a') || size(call.argv) < 3"} for index in range(8)]
    own = "!call.hasFlag('flag-9') || call.flag('flag-9') == 'value-{index}' || config.values.exists(v, v == '{each}')"
    toolspecs = [
        policies.spiceboxtoolspec(
            f"spec-{index}",
            constraints=[*shared, *({"cel": own.format(index=index, each=each)} for each in "ab")],
        )
        for index in range(1_000)
    ]

    for each in toolspecs:
        library.put_toolspec(each)
    judged = [library.toolspec(each.metadata.name) for each in toolspecs]

    assert {reason(each) for each in judged} == {None}
    assert library.compiled <= 1_001
