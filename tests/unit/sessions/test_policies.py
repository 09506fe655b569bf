"""What is said of toolkits and toolspecs, and whom that concerns: the classes that name them, and their sessions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.sessioncluster import settle
from tests.unit.api import manifests as api
from tests.unit.core.policy.loading import policies
from tests.unit.sessions.stage import KEY, POD, SessionStage, session, session_class
from toolcall_operator import errors
from toolcall_operator.api.base import ObjectMeta
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit, SpiceboxToolkitStatus
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec, SpiceboxToolspecStatus
from toolcall_operator.core.policy.loading import policystatus

WHY = "spec.toolkit is required"


def toolkit(name: str = "say-kit", /, **spec: Any) -> SpiceboxToolkit:  # noqa: ANN401 (fields of a manifest)
    """A toolkit of `say`, as an API server has it."""
    made = policies.spiceboxtoolkit(name, **spec)
    return made.model_copy(update={"metadata": _with_uid(made.metadata)})


def toolspec(name: str = "one", /, **spec: Any) -> SpiceboxToolspec:  # noqa: ANN401 (fields of a manifest)
    """A toolspec over it, likewise."""
    made = policies.spiceboxtoolspec(name, **spec)
    return made.model_copy(update={"metadata": _with_uid(made.metadata)})


def _with_uid(metadata: ObjectMeta) -> ObjectMeta:
    return metadata.model_copy(update={"uid": f"uid-of-{metadata.name}"})


def judged_class(*toolspecs: str) -> SpiceboxClass:
    """Class `plain` with a tool, `say`, whose calls these toolspecs judge."""
    named = [{"name": name} for name in toolspecs or ("one",)]
    return session_class(tools=[{"name": "say", "command": ["say"]}], toolspecs=named)


def told(stage: SessionStage, name: str = "one") -> list[str]:
    """What was written of a toolkit or a toolspec, one status after the other."""
    found = [status.conditions for known, status in stage.cluster.reported_policies if known == name]
    return [f"{valid.status}/{valid.reason}" for (valid,) in found]


# Statuses -------------------------------------------------------------------------------------------------------------
async def test_a_toolkit_and_a_toolspec_say_that_they_are_valid_and_say_it_once(stage: SessionStage) -> None:
    stage.cluster.apply_policy(toolkit())
    stage.cluster.apply_policy(toolspec())
    await settle()
    stage.controller.touch_toolkit("say-kit")
    stage.controller.touch_toolspec("one")
    await settle()

    assert (told(stage, "say-kit"), told(stage)) == (["True/Resolved"], ["True/Resolved"])
    status = stage.cluster.toolspecs["one"].status
    assert status is not None
    assert (status.resolved_toolkit, status.observed_generation) == ("say-kit", 1)
    assert policystatus.is_valid(stage.cluster.toolspecs["one"])
    assert stage.cluster.remarks == []


async def test_a_toolspec_that_is_not_valid_says_why_and_people_are_told(stage: SessionStage) -> None:
    stage.cluster.apply_policy(toolkit())
    stage.cluster.apply_policy(toolspec(allowSubcommands=["shout"]))
    await settle()

    assert told(stage) == ["False/UnknownSubcommand"]
    ((reason, message),) = stage.cluster.remarks
    assert reason == "UnknownSubcommand"
    assert "spec.allowSubcommands[0]" in message


async def test_a_toolspec_is_judged_again_when_its_toolkit_comes_changes_and_goes(stage: SessionStage) -> None:
    stage.cluster.apply_policy(toolspec(allowSubcommands=["loud"]))
    await settle()
    stage.cluster.apply_policy(toolkit())
    await settle()
    stage.cluster.apply_policy(toolkit(subcommands=[api.subcommand()]))
    await settle()
    stage.cluster.remove_policy(toolkit())
    await settle()

    assert told(stage) == ["False/ToolkitMissing", "True/Resolved", "False/UnknownSubcommand", "False/ToolkitMissing"]


async def test_a_toolkit_wakes_only_the_toolspecs_that_refer_to_it(stage: SessionStage) -> None:
    stage.cluster.apply_policy(toolkit())
    stage.cluster.apply_policy(toolkit("cry-kit", name="cry"))
    stage.cluster.apply_policy(toolspec())
    stage.cluster.apply_policy(toolspec("two", toolkit={"name": "cry", "revision": "1"}))
    await settle()
    compiled = stage.cluster.library.compiled

    stage.cluster.apply_policy(toolkit(docs="Says words."))
    await settle()

    assert stage.cluster.library.compiled - compiled == 2
    assert told(stage, "two") == ["True/Resolved"]


@pytest.mark.parametrize("policy", (toolkit(), toolspec()), ids=("a toolkit", "a toolspec"))
async def test_one_that_cannot_be_read_says_why_and_the_rest_of_its_status_stays(
    stage: SessionStage, policy: SpiceboxToolkit | SpiceboxToolspec
) -> None:
    name = policy.metadata.name
    stage.cluster.garble_policy(policy, WHY)
    await settle()

    await stage.another_leads()
    assert told(stage, name) == ["False/SpecLoadFailed"]
    assert stage.cluster.remarks == [("SpecLoadFailed", WHY)]

    stage.cluster.apply_policy(toolkit())
    stage.cluster.apply_policy(policy)
    await settle()
    assert told(stage, name)[-1] == "True/Resolved"


async def test_the_verdict_is_written_when_it_can_be(stage: SessionStage) -> None:
    stage.cluster.faults["report_judged"] = [errors.Unavailable("away"), errors.Rejected("not now")]
    stage.cluster.apply_policy(toolkit())

    await stage.passes(seconds=10)

    assert told(stage, "say-kit") == ["True/Resolved"]


async def test_a_verdict_that_somebody_else_overwrites_is_written_again(stage: SessionStage) -> None:
    stage.cluster.apply_policy(toolkit())
    stage.cluster.apply_policy(toolspec())
    await settle()
    before = toolspec().model_copy(update={"status": SpiceboxToolspecStatus()})

    stage.cluster.apply_policy(before)
    await settle()
    stage.cluster.apply_policy(before)
    await settle()

    assert told(stage) == ["True/Resolved"] * 3
    assert policystatus.is_valid(stage.cluster.toolspecs["one"])


async def test_nothing_is_left_of_what_is_no_more(stage: SessionStage) -> None:
    stage.cluster.apply_policy(toolkit())
    stage.cluster.apply_policy(toolspec())
    await settle()

    stage.cluster.remove_policy(toolkit())
    stage.cluster.remove_policy(toolspec())
    await settle()
    stage.cluster.apply_policy(toolkit())
    await settle()

    assert told(stage, "say-kit") == ["True/Resolved"] * 2
    assert stage.cluster.toolkits["say-kit"].status == SpiceboxToolkitStatus.model_validate(
        stage.cluster.reported_policies[-1][1].to_manifest()
    )


# Classes --------------------------------------------------------------------------------------------------------------
async def test_a_class_says_which_toolspecs_judge_the_calls_of_its_tools(stage: SessionStage) -> None:
    for policy in (toolkit(), toolspec(), toolspec("two")):
        stage.cluster.apply_policy(policy)
    stage.cluster.apply_class(judged_class("two", "one"))
    await settle()

    status = stage.cluster.reported_classes[-1]
    assert status.toolspec_coverage == {"say": ("two", "one")}
    assert [f"{each.status}/{each.reason}" for each in status.conditions] == ["True/Resolved"]


async def test_a_class_whose_tools_nobody_judges_is_not_valid_until_somebody_does(stage: SessionStage) -> None:
    stage.cluster.apply_class(judged_class())
    await settle()
    missing = stage.cluster.reported_classes[-1]

    stage.cluster.apply_policy(toolspec())
    stage.cluster.apply_policy(toolkit())
    await settle()

    (valid,) = missing.conditions
    assert (valid.status, valid.reason) == ("False", "ToolspecCoverageMissing")
    assert "there is no SpiceboxToolspec one" in valid.message
    (valid,) = stage.cluster.reported_classes[-1].conditions
    assert (valid.status, valid.reason) == ("True", "Resolved")


async def test_a_toolspec_wakes_only_the_classes_that_name_it(stage: SessionStage) -> None:
    stage.cluster.apply_class(judged_class("two"))
    stage.cluster.apply_class(judged_class("one"))
    await settle()
    touched: list[str] = []
    stage.controller.touch_class = touched.append  # type: ignore[method-assign,assignment] # who is woken is what counts

    stage.controller.touch_toolspec("two")
    stage.controller.touch_toolspec("none")
    stage.controller.touch_toolspec("one")

    assert touched == ["plain"]


async def test_a_class_that_can_be_read_again_says_again_who_judges(stage: SessionStage) -> None:
    stage.cluster.apply_policy(toolkit())
    stage.cluster.apply_policy(toolspec())
    stage.cluster.apply_class(judged_class())
    await settle()
    stage.cluster.garble_class("plain", WHY)
    await settle()
    unread = stage.cluster.reported_classes[-1]

    stage.cluster.garble_class("plain")
    await settle()

    mended = stage.cluster.reported_classes[-1]
    assert [each.conditions[0].reason for each in (unread, mended)] == ["MalformedObject", "Resolved"]
    assert unread.toolspec_coverage == mended.toolspec_coverage == {"say": ("one",)}


# Sessions -------------------------------------------------------------------------------------------------------------
async def runs(stage: SessionStage) -> None:
    """The pod of the session begins to run."""
    await settle()
    stage.cluster.run(POD)
    await settle()


@pytest.mark.parametrize(
    ("narrowed", "effective"),
    (
        (None, ("one", "two")),
        ([], ()),
        ([{"name": "two"}], ("two",)),
        ([{"name": "two"}, {"name": "one"}], ("two", "one")),
    ),
    ids=("all of the class", "none", "one of them", "in its own order"),
)
async def test_a_session_keeps_its_toolspecs_as_they_were_when_it_was_bound(
    stage: SessionStage, narrowed: list[dict[str, str]] | None, effective: tuple[str, ...]
) -> None:
    for policy in (toolkit(), toolspec(), toolspec("two")):
        stage.cluster.apply_policy(policy)
    stage.cluster.apply_class(judged_class("one", "two"))
    stage.cluster.apply(session(toolspecs=narrowed))
    await runs(stage)

    stage.cluster.apply_class(judged_class("one"))
    stage.cluster.remove_policy(toolspec("two"))
    await settle()

    assert stage.status().effective_toolspecs == effective
    assert "effectiveToolspecs" in stage.status().to_manifest()
    assert stage.says("Ready") == "True/SandboxReady"


async def test_a_session_of_a_class_without_toolspecs_says_nothing_of_any(stage: SessionStage) -> None:
    await stage.is_ready()

    assert "effectiveToolspecs" not in stage.status().to_manifest()


async def test_a_session_that_names_toolspecs_its_class_lacks_says_which_and_can_be_mended(stage: SessionStage) -> None:
    stage.cluster.apply_policy(toolkit())
    stage.cluster.apply_policy(toolspec())
    stage.cluster.apply_class(judged_class())
    stage.cluster.apply(session(toolspecs=[{"name": "one"}, {"name": "two"}, {"name": "three"}]))
    await settle()
    refused = stage.condition("Ready")
    assert refused is not None
    assert (refused.status, refused.reason) == ("False", "ToolspecNotInClass")
    assert "two, three" in refused.message
    assert stage.says("Failed") == "True/ToolspecNotInClass"
    assert stage.cluster.views == {}

    narrowed = session(toolspecs=[{"name": "one"}]).spec
    stage.cluster.apply(stage.cluster.objects[KEY].model_copy(update={"spec": narrowed}))
    await runs(stage)

    assert stage.says("Ready") == "True/SandboxReady"
    assert stage.status().effective_toolspecs == ("one",)


async def test_so_can_its_class(stage: SessionStage) -> None:
    for policy in (toolkit(), toolspec(), toolspec("two")):
        stage.cluster.apply_policy(policy)
    stage.cluster.apply_class(judged_class("one"))
    stage.cluster.apply(session(toolspecs=[{"name": "two"}]))
    await settle()
    refused = stage.says("Ready")

    stage.cluster.apply_class(judged_class("one", "two"))
    await runs(stage)

    assert (refused, stage.says("Ready")) == ("False/ToolspecNotInClass", "True/SandboxReady")


async def test_a_session_waits_a_moment_for_toolspecs_that_are_applied_after_it(stage: SessionStage) -> None:
    stage.cluster.apply_class(judged_class())
    stage.cluster.apply(session())
    await stage.passes(seconds=9)
    waiting, failed = stage.condition("Progressing"), stage.condition("Failed")
    assert waiting is not None
    assert (waiting.reason, failed) == ("WaitingForClass", None)
    assert "there is no SpiceboxToolspec one" in waiting.message

    stage.cluster.apply_policy(toolspec())
    stage.cluster.apply_policy(toolkit())
    await runs(stage)

    assert stage.says("Ready") == "True/SandboxReady"


async def test_one_whose_toolspecs_do_not_come_is_told_so_and_comes_up_when_they_do(stage: SessionStage) -> None:
    stage.cluster.apply_class(judged_class())
    stage.cluster.apply(session())
    await stage.passes(seconds=11)
    refused = stage.condition("Failed")
    assert refused is not None
    assert (refused.status, refused.reason) == ("True", "ClassInvalid")
    assert "spec.toolspecs has none that judges calls of say" in refused.message

    stage.cluster.apply_policy(toolkit())
    stage.cluster.apply_policy(toolspec())
    await runs(stage)

    assert stage.says("Ready") == "True/SandboxReady"
    assert stage.condition("Failed") is None
