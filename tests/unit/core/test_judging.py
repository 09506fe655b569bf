"""Calls whose class declares toolspecs: each needs one that allows it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.core import examples, policies
from toolcall_operator.api.spiceboxsession import SpiceboxSessionStatus
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import Dispatch, ToolCallStatus
from toolcall_operator.core import conditions, status, validation
from toolcall_operator.core.outcomes import Confinement, Refused, Wait
from toolcall_operator.core.policy.deciding.candidates import Candidate, Invalid, Pending
from toolcall_operator.core.reasons import Reason, Waiting
from toolcall_operator.core.validation import Plan
from toolcall_operator.core.world import World

DISPATCH = Dispatch(boot_id="boot", operator="me", epoch=1, at=examples.NOW)


def planned(world: World, **spec: Any) -> Plan:  # noqa: ANN401 (fields of a manifest)
    found = validation.plan(examples.call(**spec), world, examples.NOW)
    assert isinstance(found, Plan), found
    return found


def refused(world: World, **spec: Any) -> Refused:  # noqa: ANN401 (fields of a manifest)
    found = validation.plan(examples.call(**spec), world, examples.NOW)
    assert isinstance(found, Refused), found
    return found


def test_a_class_without_toolspecs_is_not_judged() -> None:
    found = planned(examples.world())

    assert (found.accepted_by, found.request.confinement) == ("", Confinement())


def test_a_call_that_a_toolspec_allows_runs_and_says_which() -> None:
    assert planned(policies.world(policies.toolspec())).accepted_by == "say"


def test_the_second_toolspec_may_allow_what_the_first_denies() -> None:
    denies = policies.toolspec("denies", allowSubcommands=[])

    assert planned(policies.world(denies, policies.toolspec())).accepted_by == "say"


@pytest.mark.parametrize("candidates", ((), (policies.toolspec(allowSubcommands=[]),)), ids=["none", "an empty one"])
def test_nothing_listed_means_no(candidates: tuple[Candidate, ...]) -> None:
    assert refused(policies.world(*candidates)).reason is Reason.TOOLSPEC_DENIED


def test_a_world_that_does_not_tell_the_toolspecs_of_a_class_that_has_some_means_no() -> None:
    world = World(examples.session(), examples.session_class(toolspecs=[{"name": "say"}]))

    assert refused(world).reason is Reason.TOOLSPEC_DENIED


def test_no_toolspec_that_speaks_of_the_tool_is_one_failure_without_a_name() -> None:
    other = Pending("other", "cat")

    (failure,) = refused(policies.world(other)).failures

    assert (failure.spec_name, failure.failed_on) == ("", None)
    assert "echo" in (failure.reason or "")


def test_the_words_of_the_tool_itself_are_judged_as_well() -> None:
    world = policies.world(policies.toolspec(), tool={"defaultArgs": ["-x"]})

    (failure,) = refused(world).failures

    assert failure.failed_on
    assert failure.failed_on.path == "parse"


def test_a_tool_that_starts_another_program_is_denied() -> None:
    world = policies.world(policies.toolspec(), tool={"command": ["sh", "-c", "echo"]})

    (failure,) = refused(world).failures

    assert failure.failed_on
    assert failure.failed_on.path == "binary"


def test_a_toolspec_that_nobody_has_judged_yet_is_waited_for() -> None:
    found = validation.plan(examples.call(), policies.world(Pending("late", "echo")), examples.NOW)

    assert isinstance(found, Wait)
    assert (found.waiting, found.patience) == (Waiting.POLICY, timedelta(seconds=30))
    assert (found.refusal.reason, found.refusal.failures[0].spec_name) == (Reason.TOOLSPEC_DENIED, "late")
    assert found.message == "no toolspec allows the call yet; it waits for some to be judged: late"


def test_a_toolspec_that_nobody_has_judged_yet_holds_up_no_call_that_another_allows() -> None:
    assert planned(policies.world(Pending("late", "echo"), policies.toolspec())).accepted_by == "say"


def test_one_that_denies_does_not_decide_while_another_is_not_judged() -> None:
    denies = policies.toolspec("denies", allowSubcommands=[])

    found = validation.plan(examples.call(), policies.world(denies, Pending("late", "echo")), examples.NOW)

    assert isinstance(found, Wait)
    assert [each.spec_name for each in found.refusal.failures] == ["denies", "late"]


def test_a_toolspec_that_cannot_be_read_denies_calls_of_every_tool() -> None:
    broken = Invalid("broken", "SpecLoadFailed", "spec.toolkit is required")

    (failure,) = refused(policies.world(broken)).failures

    assert failure.spec_name == "broken"
    assert "spec.toolkit is required" in (failure.reason or "")


def test_a_toolspec_of_another_tool_that_cannot_be_read_takes_no_part() -> None:
    broken = Invalid("broken", "SpecLoadFailed", "spec.version is required", "cat")

    (failure,) = refused(policies.world(broken, policies.toolspec(allowSubcommands=[]))).failures

    assert failure.spec_name == "say"


def test_every_toolspec_that_denied_is_on_the_status_of_the_refused_call() -> None:
    strict = policies.toolspec("strict", constraints=[{"cel": "size(call.argv) < 2", "message": "say less"}])
    found = refused(policies.world(strict, Invalid("broken", "ToolkitMissing", "none")), args=["a", "b"])

    told = status.settled(examples.call(), found, examples.NOW).toolspec

    assert told
    assert told.accepted_by is None
    assert [(each.spec_name, each.failed_on and each.failed_on.path) for each in told.failures] == [
        ("strict", "constraints[0]"),
        ("broken", None),
    ]
    assert told.failures[0].failed_on
    assert told.failures[0].failed_on.message == "say less"


def test_a_constraint_may_ask_for_the_time() -> None:
    late = policies.toolspec(constraints=[{"cel": "now() < timestamp('2026-01-01T00:00:00Z')"}])
    early = policies.toolspec(constraints=[{"cel": "now() > timestamp('2026-01-01T00:00:00Z')"}])

    assert refused(policies.world(late)).reason is Reason.TOOLSPEC_DENIED
    assert planned(policies.world(early)).accepted_by == "say"


def test_a_constraint_sees_the_values_of_the_session() -> None:
    only = policies.toolspec(constraints=[{"cel": "call.positional.words.all(word, word in config.words)"}])
    session = {"toolConfig": {"words": ["hello"]}}

    assert planned(policies.world(only, session=session), args=["hello"]).accepted_by == "say"
    assert refused(policies.world(only, session=session), args=["bye"]).reason is Reason.TOOLSPEC_DENIED


def test_a_bound_session_is_judged_by_the_values_it_had_then() -> None:
    only = policies.toolspec(constraints=[{"cel": "config.allowed"}])
    world = policies.world(only, session={"toolConfig": {"allowed": True}})
    assert world.session
    assert world.session_class
    then = SpiceboxSessionStatus(resolved_class=world.session_class.spec, resolved_tool_config={"allowed": False})

    bound = replace(world, session=world.session.model_copy(update={"status": then}))

    assert refused(bound).reason is Reason.TOOLSPEC_DENIED


def test_a_session_narrowed_to_nothing_allows_nothing_in_a_class_that_judges_nothing_either() -> None:
    world = World(examples.session(toolspecs=[]), examples.session_class(), toolspecs=None)

    assert refused(world).reason is Reason.TOOLSPEC_DENIED


def test_a_constraint_over_values_that_the_session_lacks_denies_and_says_so() -> None:
    only = policies.toolspec(constraints=[{"cel": "config.words == []"}])

    (failure,) = refused(policies.world(only)).failures

    assert failure.failed_on
    assert failure.failed_on.path == "constraints[0]"
    assert "words" in (failure.reason or "")


@pytest.mark.parametrize("where", ("call", "session"))
def test_a_variable_that_no_toolkit_knows_is_forbidden(where: str) -> None:
    env = {"LD_PRELOAD": "/workspace/evil.so"}
    world = policies.world(policies.toolspec(), session={"defaultEnv": env} if where == "session" else None)

    found = refused(world, env=env if where == "call" else {})

    assert found.reason is Reason.ENV_NAME_FORBIDDEN
    assert "LD_PRELOAD" in found.message


def test_a_variable_that_the_class_allows_may_be_set_unless_it_steers_programs() -> None:
    world = policies.world(policies.toolspec(), allowedEnvNames=["NAME", "LD_PRELOAD"])

    assert planned(world, env={"NAME": "x"}).request.env == {"NAME": "x"}
    assert refused(world, env={"LD_PRELOAD": "x"}).reason is Reason.ENV_NAME_FORBIDDEN


def test_the_defaults_of_the_accepting_toolkit_are_in_the_environment() -> None:
    known = policies.toolkit(envDefaults={"PAGER": "cat"})

    assert planned(policies.world(policies.toolspec(of=known))).request.env == {"PAGER": "cat"}


def test_a_call_may_carry_the_defaults_of_the_toolkit_itself() -> None:
    known = policies.toolkit(envDefaults={"PAGER": "cat", "LD_BIND_NOW": "1"})

    found = planned(policies.world(policies.toolspec(of=known)), env={"PAGER": "cat", "LD_BIND_NOW": "1"})

    assert (found.accepted_by, found.request.env) == ("say", {"PAGER": "cat", "LD_BIND_NOW": "1"})


def test_a_default_that_a_call_carries_gives_way_to_what_class_and_session_say() -> None:
    world = policies.world(
        policies.toolspec(of=policies.toolkit(envDefaults={"PAGER": "cat", "STYLE": "plain"})),
        session={"defaultEnv": {"STYLE": "loud"}},
        envDefaults={"PAGER": "of the class"},
        allowedEnvNames=["STYLE"],
    )

    assert planned(world, env={"PAGER": "cat", "STYLE": "plain"}).request.env == {"STYLE": "loud"}


@pytest.mark.parametrize(
    ("call", "session"),
    (
        pytest.param({"PAGER": "less"}, {}, id="another value"),
        pytest.param({}, {"PAGER": "cat"}, id="its session"),
        pytest.param({"PAGER": "cat"}, {"PAGER": "less"}, id="its session with another value"),
        pytest.param({"PAGER": "cat", "MANPAGER": "cat"}, {}, id="a name without a default"),
    ),
)
def test_nothing_else_may_be_set_because_the_toolkit_has_a_default(
    call: dict[str, str], session: dict[str, str]
) -> None:
    toolspec = policies.toolspec(of=policies.toolkit(envDefaults={"PAGER": "cat"}))

    found = refused(policies.world(toolspec, session={"defaultEnv": session}), env=call)

    assert found.reason is Reason.ENV_NAME_FORBIDDEN


def test_the_default_of_another_toolkit_than_that_of_the_toolspec_is_judged() -> None:
    known = policies.toolspec("known", of=policies.toolkit(envDefaults={"PAGER": "cat"}), allowSubcommands=[])

    found = refused(policies.world(known, policies.toolspec()), env={"PAGER": "cat"})

    assert [each.failed_on and each.failed_on.path for each in found.failures] == ["allowSubcommands", "env"]


# The session's values -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("config", "words"),
    (
        pytest.param({"big": 2**63}, "config.big is a number beyond 64 bits", id="just too large"),
        pytest.param({"big": -(10**30)}, "config.big is a number beyond 64 bits", id="far too small"),
        pytest.param({"a": {"b c": [1, {"d": 2**64}]}}, 'config.a["b c"][1].d is a number beyond 64 bits', id="inside"),
    ),
)
def test_a_value_of_the_session_that_no_expression_can_see_denies_every_call(
    config: dict[str, Any], words: str
) -> None:
    reads_none = policies.toolspec("reads-none")
    reads_it = policies.toolspec("reads-it", constraints=[{"cel": "config.big > 0"}])

    found = refused(policies.world(reads_none, reads_it, session={"toolConfig": config}))

    assert [each.spec_name for each in found.failures] == ["reads-none", "reads-it"]
    assert {each.failed_on and each.failed_on.path for each in found.failures} == {"config"}
    assert all(words in (each.reason or "") for each in found.failures)


def test_a_session_may_have_every_value_that_an_expression_can_see() -> None:
    edge = {"ints": [2**63 - 1, -(2**63)], "others": [1.5, 1e308, True, None, "", {"": {}}], "many": [0] * 1000}

    assert planned(policies.world(policies.toolspec(), session={"toolConfig": edge})).accepted_by == "say"


# What the status of a refused call holds ------------------------------------------------------------------------------
LONGEST_NAME = "x" * 251
LARGEST_STATUS = 96 * 1_024


def refusing(count: int, letter: str) -> World:
    """A world with this many toolspecs, all of which refuse with as many words as they can."""
    long = [{"cel": "false", "message": letter * 4_000}]
    several = [policies.toolspec(f"{number:02}{LONGEST_NAME}", constraints=long) for number in range(count)]
    return policies.world(*several)


def stored(told: ToolCallStatus) -> int:
    """Bytes of a status, as an API server keeps it: it writes these three as JavaScript would."""
    text = json.dumps(told.to_manifest(), ensure_ascii=False)
    return len(text.encode()) + 5 * sum(map(text.count, "<>&"))


@pytest.mark.parametrize("letter", ("a", "禁", '"', "\\", "<", "😀"))
def test_the_status_of_a_call_that_very_many_toolspecs_refuse_has_room_in_the_api(letter: str) -> None:
    told = status.settled(examples.call(), refused(refusing(64, letter)), examples.NOW)

    assert stored(told) < LARGEST_STATUS
    assert told.toolspec
    assert len(told.toolspec.failures) == 64
    for failure in told.toolspec.failures:
        assert failure.failed_on
        assert failure.failed_on.path == "constraints[0]"
        assert (failure.reason or "").startswith("constraints[0] does not hold: " + letter)


def test_what_a_rule_says_is_cut_before_the_reason_is() -> None:
    told = refused(refusing(20, "禁")).failures

    reasons = {each.reason for each in told}
    messages = {each.failed_on.message for each in told if each.failed_on}
    assert reasons == {refused(refusing(1, "禁")).failures[0].reason}
    assert [(each or "")[-1:] for each in messages] == ["…"]
    assert 10 < len(next(iter(messages)) or "") < 500


def test_nothing_is_cut_where_there_is_room() -> None:
    (failure,) = refused(refusing(1, "a")).failures

    assert failure.failed_on
    assert failure.failed_on.message == "a" * 511 + "…"


def test_a_call_that_more_toolspecs_refuse_than_its_status_has_room_for_says_how_many() -> None:
    told = status.settled(examples.call(), refused(refusing(70, "a")), examples.NOW)

    finished = conditions.find(told.conditions, "Finished")
    assert told.toolspec
    assert len(told.toolspec.failures) == 64
    assert finished
    assert finished.message.startswith("all 70 candidate spec(s) denied")


def test_an_accepted_call_is_confined_to_what_it_was_accepted_for() -> None:
    toolspec = policies.toolspec(allow={"filesystem": {"pathsUnder": ["/workspace/out/"]}})

    confinement = planned(policies.world(toolspec)).request.confinement

    assert confinement == Confinement(network=False, writable=("/workspace/out",), trusted=True)


def test_a_claimed_call_says_who_accepted_it_and_how_it_is_confined_and_is_taken_over_so() -> None:
    toolspec = policies.toolspec(
        of=policies.toolkit(envDefaults={"PAGER": "cat"}), allow={"filesystem": {"pathsUnder": ["/workspace"]}}
    )
    before = planned(policies.world(toolspec))
    claimed = status.started(examples.call(), before, DISPATCH, examples.NOW)

    after = validation.resumed(examples.call(status=claimed), policies.world(toolspec))

    assert claimed.toolspec
    assert claimed.toolspec.accepted_by == "say"
    assert after
    assert after.request == before.request


def test_a_claimed_call_may_still_be_started_while_its_toolspec_would_accept_it() -> None:
    after = validation.resumed(claimed(), policies.world(policies.toolspec()), examples.NOW)

    assert after
    assert not after.only_followed


@pytest.mark.parametrize(
    "candidates",
    (
        (),
        (Pending("say", "echo"),),
        (Invalid("say", "ToolkitMissing", "none", "echo"),),
        (policies.toolspec(allowSubcommands=[]),),
    ),
    ids=("gone", "not judged again yet", "invalid", "another one by now"),
)
def test_a_claimed_call_is_only_followed_once_its_toolspec_does_not_stand_behind_it(
    candidates: tuple[Candidate, ...],
) -> None:
    after = validation.resumed(claimed(), policies.world(*candidates), examples.NOW)

    assert after
    assert after.only_followed


def claimed() -> ToolCall:
    """A call that was accepted by `say`."""
    accepted = planned(policies.world(policies.toolspec()))
    return examples.call(status=status.started(examples.call(), accepted, DISPATCH, examples.NOW))


def test_a_claimed_call_keeps_its_confinement_when_its_toolspec_has_changed() -> None:
    before = planned(policies.world(policies.toolspec()))
    claimed = status.started(examples.call(), before, DISPATCH, examples.NOW)

    after = validation.resumed(examples.call(status=claimed), policies.world(policies.toolspec(allowSubcommands=[])))

    assert after
    assert after.request.confinement == before.request.confinement


# Credentials ----------------------------------------------------------------------------------------------------------
def carrying(variable: str) -> dict[str, Any]:
    """A call that is given a credential in this variable."""
    source = {"type": "static", "namespace": "default", "name": "github", "key": "token"}
    return {"credentials": [{"inject": {"envVar": variable}, "source": source}]}


def test_a_credential_may_go_into_a_variable_that_calls_may_not_set() -> None:
    (reference,) = planned(policies.world(policies.toolspec()), **carrying("GH_TOKEN")).references

    assert reference.env_var == "GH_TOKEN"


@pytest.mark.parametrize("name", ("GIT_SSH_COMMAND", "LD_PRELOAD", "PATH", "HOME", "https_proxy", "SSL_CERT_FILE"))
def test_a_credential_steers_no_program(name: str) -> None:
    found = refused(policies.world(policies.toolspec()), **carrying(name))

    assert found.reason is Reason.ENV_NAME_FORBIDDEN
    assert name in found.message


def test_a_toolkit_may_list_a_variable_that_steers_for_credentials_too() -> None:
    listing = policies.toolkit(env={"allowed": [{"name": "GIT_ASKPASS"}]})

    assert planned(policies.world(policies.toolspec(of=listing)), **carrying("GIT_ASKPASS")).references


@pytest.mark.parametrize(
    ("expression", "allowed"),
    (
        ('call.env["GH_TOKEN"] == "[credential]"', True),
        ('"GH_TOKEN" in call.env', True),
        ('!("GH_TOKEN" in call.env)', False),
    ),
)
def test_rules_see_that_there_is_a_credential_and_not_which(expression: str, *, allowed: bool) -> None:
    constraint = {"cel": expression, "message": "no"}
    world = policies.world(policies.toolspec(constraints=[constraint]))

    found = validation.plan(examples.call(**carrying("GH_TOKEN")), world, examples.NOW)

    assert isinstance(found, Plan) is allowed
