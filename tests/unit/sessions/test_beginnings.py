"""How a session comes to have a sandbox, as people see it in the cluster."""

from __future__ import annotations

from tests.fakes.sessioncluster import settle
from tests.unit.api import manifests as api
from tests.unit.sessions.stage import BOT, KEY, POD, SessionStage, agent, session, session_class
from toolcall_operator import errors
from toolcall_operator.api.spiceboxsession import FINALIZER


async def test_a_session_is_held_then_bound_then_fenced_in_before_its_pod_is_made(stage: SessionStage) -> None:
    await stage.is_ready()

    assert stage.cluster.log == ["hold", "create NetworkPolicy work-sandbox", "create Pod work-pod"]
    assert FINALIZER in stage.cluster.objects[KEY].metadata.finalizers
    assert stage.status().resolved_class == session_class().spec


async def test_a_greeted_sandbox_is_ready_and_says_what_it_is(stage: SessionStage) -> None:
    await stage.is_ready()

    assert stage.says("Ready") == "True/SandboxReady"
    assert stage.says("Progressing") == "False/SandboxReady"
    assert stage.says("NetworkEnforced") == "True/Blocked"
    sandbox = stage.status().sandbox
    assert sandbox is not None
    assert (stage.status().pod_name, sandbox.ref, sandbox.boot_id) == (POD, "default/work-pod", "boot-1")
    assert (sandbox.landlock_abi, sandbox.isolation, sandbox.supervisor_version) == (7, "Landlock", "0.1.0")


async def test_two_writes_bring_a_session_to_its_sandbox(stage: SessionStage) -> None:
    await stage.is_ready()
    await stage.passes(minutes=5)

    assert len(stage.cluster.reported) == 2


async def test_the_image_of_a_class_that_names_none_is_the_operators(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class(image=None))

    await stage.is_ready()

    frozen = stage.status().resolved_class
    assert frozen is not None
    assert frozen.image == "default:1"
    assert stage.cluster.manifests[POD]["spec"]["containers"][0]["image"] == "default:1"


async def test_what_becomes_of_a_class_later_does_not_reach_its_sessions(stage: SessionStage) -> None:
    await stage.is_ready()

    stage.cluster.apply_class(session_class(image="tools:2"))
    stage.cluster.remove_class("plain")
    stage.cluster.kill(POD)
    await stage.passes(seconds=5)

    assert stage.cluster.manifests["work-pod-2"]["spec"]["containers"][0]["image"] == "tools:1"


async def test_a_session_may_come_before_its_class(stage: SessionStage) -> None:
    stage.cluster.apply(session())
    await stage.passes(seconds=9)
    assert stage.says("Progressing") == "True/WaitingForClass"

    stage.cluster.apply_class(session_class())
    await settle()

    assert stage.says("Progressing") == "True/Creating"
    assert POD in stage.cluster.views


async def test_a_class_that_does_not_come_fails_the_session_until_it_does(stage: SessionStage) -> None:
    stage.cluster.apply(session())
    await stage.passes(seconds=11)
    assert stage.says("Failed") == "True/ClassMissing"
    assert stage.says("Ready") == "False/ClassMissing"

    stage.cluster.apply_class(session_class())
    await settle()
    stage.cluster.run(POD)
    await settle()

    assert stage.says("Failed") == ""
    assert stage.says("Ready") == "True/SandboxReady"


async def test_a_class_the_cache_has_missed_is_found_by_asking(stage: SessionStage) -> None:
    stage.cluster.uncached["plain"] = session_class()
    stage.cluster.apply(session())

    await stage.passes(seconds=11)

    assert POD in stage.cluster.views


async def test_a_class_nobody_can_ask_for_is_not_believed_to_be_missing(stage: SessionStage) -> None:
    stage.cluster.always["live_class"] = errors.Unavailable("the API server is away")
    stage.cluster.apply(session())

    await stage.passes(minutes=5)

    assert stage.says("Failed") == ""
    told = stage.condition("Progressing")
    assert told is not None
    assert (told.status, told.reason, told.message) == ("True", "Retrying", "the API server is away")


async def test_a_class_that_cannot_be_read_fails_the_session_naming_the_field(stage: SessionStage) -> None:
    stage.cluster.always["live_class"] = errors.Rejected("spec.tools is required")
    stage.cluster.apply(session())

    await stage.passes(seconds=11)

    failed = stage.condition("Failed")
    assert failed is not None
    assert (failed.reason, "spec.tools is required" in failed.message) == ("ClassInvalid", True)


async def test_a_class_that_could_not_be_read_and_is_taken_away_is_missing(stage: SessionStage) -> None:
    stage.cluster.always["live_class"] = errors.Rejected("spec.tools is required")
    stage.cluster.apply(session())
    await stage.passes(seconds=11)

    del stage.cluster.always["live_class"]
    stage.cluster.wake_class("plain")
    await settle()

    assert stage.says("Failed") == "True/ClassMissing"


async def test_a_class_that_is_not_valid_makes_no_sandbox_until_it_is(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class(image=" "))
    stage.cluster.apply(session())
    await settle()
    assert stage.says("Failed") == "True/ClassInvalid"
    assert stage.cluster.views == {}

    stage.cluster.apply_class(session_class())
    await settle()

    assert POD in stage.cluster.views


async def test_a_field_of_the_class_that_is_not_supported_is_named_by_the_session(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class(ttlSecondsAfterFinished=60))
    stage.cluster.apply(session())
    await settle()

    failed = stage.condition("Failed")
    assert failed is not None
    assert failed.reason == "NotSupported"
    assert "spec.ttlSecondsAfterFinished" in failed.message


async def test_a_field_of_the_session_that_is_not_supported_is_named(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class())
    stage.cluster.apply(session(scopes=["files"]))
    await settle()

    failed = stage.condition("Failed")
    assert failed is not None
    assert (failed.reason, failed.message) == (
        "NotSupported",
        "spec.scopes asks for something that is not supported here",
    )
    assert stage.cluster.views == {}


async def test_a_class_says_which_namespaces_may_use_it(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class(allowedNamespaces={"matchLabels": {"team": "a"}}))
    stage.cluster.apply(session())
    await settle()
    assert stage.says("Failed") == "True/ClassNotAllowed"
    assert stage.cluster.views == {}

    stage.cluster.labels["team"] = "a"
    await stage.passes(minutes=1)

    assert POD in stage.cluster.views


async def test_a_mount_waits_for_its_config_map_and_the_session_says_so(stage: SessionStage) -> None:
    mount = {"name": "rules", "mountPath": "/rules", "source": {"configMapRef": {"name": "rules"}}}
    stage.cluster.apply_class(session_class(mounts=[mount]))
    stage.cluster.apply(session())
    await settle()
    told = stage.condition("Progressing")
    assert told is not None
    assert (told.status, told.reason) == ("True", "Creating")
    assert "ConfigMap rules" in told.message

    stage.cluster.config_maps["rules"] = {}
    await stage.passes(seconds=3)

    assert POD in stage.cluster.views


# Agents ---------------------------------------------------------------------------------------------------------------
async def test_a_session_keeps_its_agent_for_good(stage: SessionStage) -> None:
    stage.cluster.apply_agent(agent())
    await stage.is_ready(session(agent="bot"))

    stage.cluster.remove_agent(BOT)
    await settle()

    assert stage.status().resolved_agent == "bot"
    assert stage.says("Ready") == "True/SandboxReady"


async def test_an_agent_that_is_not_valid_or_cannot_be_read_is_there_all_the_same(stage: SessionStage) -> None:
    stage.cluster.apply_agent(agent(credentials=[api.static_credential()]))
    await settle()
    stage.cluster.garble_agent(BOT, "spec.credentials[0].type is required")
    await stage.is_ready(session(agent="bot"))

    assert stage.status().resolved_agent == "bot"


async def test_a_session_may_come_before_its_agent(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class())
    stage.cluster.apply(session(agent="bot"))
    await stage.passes(seconds=9)
    waiting = stage.condition("Progressing")
    assert waiting is not None
    assert (waiting.status, waiting.reason) == ("True", "WaitingForAgent")
    assert waiting.message == "there is no AgentIdentity bot in namespace default yet"

    stage.cluster.apply_agent(agent())
    await settle()

    assert stage.says("Progressing") == "True/Creating"
    assert POD in stage.cluster.views


async def test_an_agent_that_does_not_come_fails_the_session_until_it_does(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class())
    stage.cluster.apply(session(agent="bot"))
    await stage.passes(seconds=11)
    failed = stage.condition("Failed")
    assert failed is not None
    assert (failed.status, failed.reason) == ("True", "AgentMissing")
    assert failed.message == "there is no AgentIdentity bot in namespace default"
    assert stage.cluster.remarks == [("AgentMissing", failed.message)]
    assert stage.cluster.views == {}

    stage.cluster.apply_agent(agent())
    await settle()
    stage.cluster.run(POD)
    await settle()

    assert stage.says("Failed") == ""
    assert stage.says("Ready") == "True/SandboxReady"
    assert stage.status().resolved_agent == "bot"


async def test_a_class_and_an_agent_that_come_together_late_are_waited_for_once(stage: SessionStage) -> None:
    stage.cluster.apply(session(agent="bot"))
    await stage.passes(seconds=9)
    stage.cluster.apply_class(session_class())
    await settle()
    assert stage.says("Progressing") == "True/WaitingForAgent"

    await stage.passes(seconds=2)

    assert stage.says("Failed") == "True/AgentMissing"


async def test_the_agent_of_another_namespace_is_another_one(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class())
    stage.cluster.apply_agent(agent(namespace="other"))
    stage.cluster.apply(session(agent="bot"))

    await stage.passes(seconds=11)

    assert stage.says("Failed") == "True/AgentMissing"


async def test_an_agent_the_cache_has_missed_is_found_by_asking(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class())
    stage.cluster.uncached_agents.add(BOT)
    stage.cluster.apply(session(agent="bot"))

    await stage.passes(seconds=11)

    assert stage.status().resolved_agent == "bot"
    assert POD in stage.cluster.views


async def test_an_agent_nobody_can_ask_for_is_not_believed_to_be_missing(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class())
    stage.cluster.always["has_agent"] = errors.Unavailable("the API server is away")
    stage.cluster.apply(session(agent="bot"))

    await stage.passes(minutes=5)

    assert stage.says("Failed") == ""
    assert stage.says("Progressing") == "True/Retrying"


async def test_a_session_without_an_agent_asks_for_none(stage: SessionStage) -> None:
    await stage.is_ready()

    assert stage.cluster.asked["has_agent"] == 0
    assert stage.status().resolved_agent is None
