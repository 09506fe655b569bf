"""Which calls may run, and as what."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.core import examples, policies
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import validation
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.validation import Plan
from toolcall_operator.core.world import World


def planned(world: World | None = None, **spec: Any) -> Plan:  # noqa: ANN401 (fields of a manifest)
    plan = validation.plan(examples.call(**spec), world or examples.world())
    assert isinstance(plan, Plan), plan
    return plan


def refused(world: World | None = None, **spec: Any) -> Refused:  # noqa: ANN401 (fields of a manifest)
    plan = validation.plan(examples.call(**spec), world or examples.world())
    assert isinstance(plan, Refused), plan
    return plan


def test_the_arguments_of_a_process_are_command_default_args_and_args() -> None:
    assert planned(args=["a"]).request.argv == ("/bin/echo", "-n", "a")


def test_a_plan_holds_everything_a_process_needs() -> None:
    of_class = examples.session_class(
        limits={"outputBytes": "2Mi"}, terminationGracePeriod="3s", resources={**examples.RESOURCES, "pidsLimit": 7}
    )
    session = examples.session(defaultEnv={"A": "session", "B": "session"})

    plan = planned(World(session, of_class), env={"B": "call"}, stdin="payload-under-test", timeout="200ms")

    request = plan.request
    assert (plan.session, plan.session_class) == (session, of_class)
    assert request.uid == examples.call().metadata.uid
    assert request.env == {"A": "session", "B": "call"}
    assert request.stdin == b"payload-under-test"
    assert (request.timeout, request.grace) == (timedelta(milliseconds=200), timedelta(seconds=3))
    assert (request.output_bytes, request.pids) == (2 * 1024 * 1024, 7)


def test_a_relative_command_is_accepted() -> None:
    assert (
        planned(World(examples.session(), examples.session_class({"command": ["python3"]}))).request.argv[0]
        == "python3"
    )


def test_a_call_whose_session_is_absent_is_refused_naming_it() -> None:
    found = refused(World(None, None))

    message = "spec.session names SpiceboxSession work, which is not in namespace default"
    assert found == Refused(Reason.SESSION_GONE, message, "spec.session")


def test_a_call_whose_session_cannot_be_read_is_told_so_and_why() -> None:
    found = refused(World(None, None, unread="world.yaml:3: spec.klass is not a known field"))

    assert found.reason is Reason.SESSION_NOT_ACTIVE
    assert found.message == (
        "spec.session names SpiceboxSession work, which is in namespace default and cannot be read: "
        "world.yaml:3: spec.klass is not a known field"
    )


def test_a_call_whose_sessions_class_is_absent_is_refused_naming_both() -> None:
    found = refused(World(examples.session(), None))

    assert found == Refused(
        Reason.SESSION_NOT_ACTIVE, "SpiceboxSession work cannot run: there is no SpiceboxClass plain"
    )


def test_a_call_whose_sessions_class_cannot_be_read_is_told_so_and_why() -> None:
    found = refused(World(examples.session(), None, unread="world.yaml:3: spec.resources is required"))

    assert found.reason is Reason.SESSION_NOT_ACTIVE
    assert found.message == (
        "SpiceboxSession work cannot run: its SpiceboxClass plain cannot be read: "
        "world.yaml:3: spec.resources is required"
    )


@pytest.mark.parametrize(
    ("world", "tool", "reasons"),
    (
        (World(None, None), "echo", [Reason.SESSION_GONE, Reason.ENV_NAME_INVALID]),
        (World(examples.session(), None), "echo", [Reason.SESSION_NOT_ACTIVE, Reason.ENV_NAME_INVALID]),
        (examples.world(), "other", [Reason.TOOL_UNKNOWN, Reason.ENV_NAME_INVALID, Reason.ENV_SECRET_LIKE]),
    ),
)
def test_of_a_call_without_a_target_only_what_needs_none_is_told_besides(
    world: World, tool: str, reasons: list[Reason]
) -> None:
    call = examples.call(tool=tool, env={"A-B": "", "API_KEY": ""}, captureOutputs=["/work/out/a"], arguments={})

    assert [objection.reason for objection in refusals(call, world)] == reasons


def test_every_objection_to_a_call_is_told_in_the_order_of_the_checks() -> None:
    call = examples.call(
        maxDuration="1s",
        captureOutputs=["/work/out/a"],
        arguments={},
        args=["x" * 131_072, "short", "x" * 131_072],
        env={"API_KEY": "", "DB_PASSWORD": "", "9X": "", "A-B": "", "FINE": ""},
    )

    found = refusals(call, examples.world())

    assert [(objection.path, objection.reason) for objection in found] == [
        ("spec.maxDuration", Reason.NOT_SUPPORTED),
        ("spec.captureOutputs", Reason.NOT_SUPPORTED),
        ("spec.arguments", Reason.UNSUPPORTED_FOR_TOOL),
        ("spec.args[0]", Reason.ARGUMENTS_TOO_LONG),
        ("spec.args[2]", Reason.ARGUMENTS_TOO_LONG),
        ('spec.env["9X"]', Reason.ENV_NAME_INVALID),
        ("spec.env.A-B", Reason.ENV_NAME_INVALID),
        ("spec.env.API_KEY", Reason.ENV_SECRET_LIKE),
        ("spec.env.DB_PASSWORD", Reason.ENV_SECRET_LIKE),
    ]
    assert all(objection.message.startswith(f"{objection.path} ") for objection in found)
    assert validation.plan(call, examples.world()) == found[0]


def test_an_unknown_tool_is_refused_naming_the_class_and_the_tools_it_has() -> None:
    found = refused(tool="ech")

    message = "spec.tool names ech, which is no tool of SpiceboxClass plain; it has echo, cat"
    assert found == Refused(Reason.TOOL_UNKNOWN, message, "spec.tool")


def test_the_tools_of_a_large_class_are_not_all_listed() -> None:
    tools = [{"name": f"t{n}" + "x" * 60, "command": ["t"]} for n in range(256)]

    found = refused(World(examples.session(), examples.session_class(tools=tools)), tool="echo")

    assert found.reason is Reason.TOOL_UNKNOWN
    assert found.message.endswith("…")
    assert len(found.message) <= 1024


def test_a_class_without_tools_has_none() -> None:
    assert refused(World(examples.session(), examples.session_class(tools=[]))).message.endswith("it has none")


def test_a_field_that_is_not_carried_out_is_refused_naming_it() -> None:
    found = refused(captureOutputs=["/work/out/a"])

    assert found.reason is Reason.NOT_SUPPORTED
    assert found.message.startswith("spec.captureOutputs ")


def test_a_field_that_this_place_lacks_is_refused_naming_it() -> None:
    of_class = examples.session_class(writablePaths=["/data"])

    found = refused(World(examples.session(), of_class, lacking=("SpiceboxClass spec.writablePaths",)))

    assert found.reason is Reason.NOT_SUPPORTED
    assert found.message.startswith("SpiceboxClass plain spec.writablePaths ")


def test_a_misspelt_lack_is_an_error_and_not_an_allowance() -> None:
    with pytest.raises(ValueError, match=r"spec\.writeablePaths"):
        World(None, None, lacking=("SpiceboxClass spec.writeablePaths",))


@pytest.mark.parametrize("arguments", ({}, {"a": 1}))
def test_arguments_for_a_program_are_refused(arguments: dict[str, object]) -> None:
    found = refused(arguments=arguments)

    assert found.reason is Reason.UNSUPPORTED_FOR_TOOL
    assert "spec.arguments" in found.message


@pytest.mark.parametrize("item", ("x" * 131_071, "é" * 65_535 + "x", ""))
def test_an_argument_as_long_as_linux_takes_is_accepted(item: str) -> None:
    assert planned(args=["short", item]).request.argv[-1] == item


@pytest.mark.parametrize("item", ("x" * 131_072, "é" * 65_536))
def test_a_longer_argument_is_refused_naming_it_wherever_it_stands(item: str) -> None:
    of_call = refused(args=["short", item])
    of_class = refused(World(examples.session(), examples.session_class({"defaultArgs": [item]})))

    assert of_call.reason is of_class.reason is Reason.ARGUMENTS_TOO_LONG
    assert of_call.message.startswith("spec.args[1] has 131072 bytes")
    assert of_class.message.startswith("SpiceboxClass plain spec.tools[echo].defaultArgs[0] has 131072 bytes")


@pytest.mark.parametrize("name", ("NOT-A-NAME", "API-KEY", "1A", "", "A B", "A=B", "A" * 257))
def test_a_name_no_process_can_be_given_is_refused_naming_it(name: str) -> None:
    found = refused(env={name: "value"})

    assert found.reason is Reason.ENV_NAME_INVALID
    assert found.path.startswith("spec.env")
    assert name[:64] in found.path


def test_a_name_with_control_characters_is_shown_without_them() -> None:
    found = refused(env={"A\x1b[31m\nB": ""})

    assert found.path == 'spec.env["A\\u001b[31m\\nB"]'
    assert found.message.isprintable()


def test_invalid_names_are_found_before_names_that_suggest_a_secret() -> None:
    assert refused(env={"A_TOKEN": "", "Z-NAME": "", "Z.OTHER": ""}).path == "spec.env.Z-NAME"


@pytest.mark.parametrize("name", ("NOT-A-NAME", "", "A=B"))
def test_a_default_of_the_session_or_the_class_needs_a_valid_name_too(name: str) -> None:
    of_session = refused(World(examples.session(defaultEnv={name: "x"}), examples.session_class()))
    of_class = refused(World(examples.session(), examples.session_class(envDefaults={name: "x"})))

    assert of_session.reason is of_class.reason is Reason.ENV_NAME_INVALID
    assert of_session.message.startswith("SpiceboxSession work spec.defaultEnv")
    assert of_class.message.startswith("SpiceboxClass plain spec.envDefaults")
    assert (of_session.path, of_class.path) == ("", "")


def test_of_two_names_that_suggest_a_secret_the_alphabetically_first_is_named() -> None:
    found = refused(env={"MY_SECRET": "s3cr3t", "GH_TOKEN": "s3cr3t", "FOO": "bar"})

    assert found.reason is Reason.ENV_SECRET_LIKE
    assert found.message.startswith("spec.env.GH_TOKEN has a name that suggests a secret; ")
    assert "s3cr3t" not in found.message


def test_a_class_excepts_names_exactly_as_it_lists_them() -> None:
    excepting = World(examples.session(), examples.session_class(allowedEnvNames=["GH_TOKEN"]))

    assert planned(excepting, env={"GH_TOKEN": "x"}).request.env == {"GH_TOKEN": "x"}
    assert refused(excepting, env={"GH_TOKEN": "x", "gh_token": "y"}).reason is Reason.ENV_SECRET_LIKE


def test_a_default_of_the_session_may_have_a_name_that_suggests_a_secret() -> None:
    session = examples.session(defaultEnv={"GH_TOKEN": "x"})

    assert planned(World(session, examples.session_class())).request.env == {"GH_TOKEN": "x"}


def test_values_that_look_like_secrets_are_noted_and_the_call_still_runs() -> None:
    key = "ghp_aB3dE5gH7jK9mN1pQ2sT4vW6yZ8xC0fL"

    plan = planned(env={"FOO": key, "BAR": "short"}, args=["--with", key], stdin=f"login {key}\n")

    assert plan.high_entropy == ("spec.env.FOO", "spec.args", "spec.stdin")
    assert planned(env={"BAR": "short"}, args=["a sentence of several words"], stdin="text\n").high_entropy == ()


def test_without_checks_nothing_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "CHECKS", ())

    with pytest.raises(LookupError, match="without checks"):
        validation.plan(examples.call(), examples.world())


@pytest.mark.parametrize("world", (World(None, None), World(examples.session(), None)))
def test_a_check_that_went_missing_does_not_let_a_call_pass(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    for left in validation.CHECKS:
        monkeypatch.setattr(validation, "CHECKS", (left,))
        try:
            found = validation.plan(examples.call(), world)
        except LookupError:
            continue

        assert isinstance(found, Refused)


@given(
    env=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=300), st.just("s3cr3t"), max_size=4),
    tool=st.sampled_from(["echo", "cat", "other"]),
    mode=st.sampled_from(["sync", "stream"]),
)
def test_every_refusal_is_one_short_printable_line_without_a_value(env: dict[str, str], tool: str, mode: str) -> None:
    found = validation.plan(examples.call(env=env, tool=tool, mode=mode), examples.world())

    if isinstance(found, Refused):
        assert found.message.isprintable()
        assert len(found.message) <= 1024
        assert "s3cr3t" not in found.message


def test_a_rule_that_asks_for_the_time_objects_to_nothing_when_it_is_told_it() -> None:
    early = policies.toolspec(constraints=[{"cel": "now() > timestamp('2026-01-01T00:00:00Z')"}])

    assert not [*validation.objections(examples.call(), policies.world(early), examples.NOW)]
    assert [*validation.objections(examples.call(), policies.world(early))]


def refusals(call: ToolCall, world: World) -> list[Refused]:
    return [each for each in validation.objections(call, world) if isinstance(each, Refused)]
