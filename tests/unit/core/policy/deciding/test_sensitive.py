"""Which values of a call must not be shown."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core.policy.deciding import decisions
from tests.unit.core.policy.deciding.decisions import GH, GIT, READER, allowed, denied, judged, toolspec
from toolcall_operator.core.policy.deciding import decision


@pytest.mark.parametrize(
    ("name", "more"),
    (
        pytest.param("GIT_TOKEN", {}, id="sensitive to the toolkit"),
        pytest.param("API_HOST", {"sensitive": {"env": ["API_HOST"]}}, id="sensitive to the toolspec"),
        pytest.param("DB_PASSWORD", {}, id="by its name"),
    ),
)
def test_a_variable_is_not_shown_that_somebody_calls_sensitive(name: str, more: dict[str, Any]) -> None:
    shown = allowed(toolspec(**more), "status", env={name: "hunter2", "TEAM": "plain"}).shown

    assert shown("hunter2 and plain") == '<redacted id="1"/> and plain'


@pytest.mark.parametrize("flag", ("token", "t", "--token", "-t"))
def test_a_flag_may_be_called_sensitive_by_any_of_its_names(flag: str) -> None:
    kit = {**READER, "globalFlags": [{"long": "token", "short": "t", "type": "string"}]}

    shown = allowed(toolspec(kit, sensitive={"flags": [flag]}), "-t", "hunter2").shown

    assert shown("hunter2") == '<redacted id="1"/>'


def test_a_flag_that_its_toolkit_calls_sensitive_is_not_shown() -> None:
    assert allowed(toolspec(READER), "--token", "hunter2").shown("hunter2") == '<redacted id="1"/>'


def test_what_effects_make_of_a_sensitive_value_is_not_shown_either() -> None:
    policy = toolspec(
        GIT, sensitive={"positional": ["repository"]}, allow={"network": {"destinations": ["github.com"]}}
    )

    found = denied(policy, "clone", "https://Internal.example/acme")

    assert found.reason.startswith('destination <redacted id="2"/> is not allowed')


def test_a_word_that_nobody_knows_is_not_quoted_where_arguments_are_sensitive() -> None:
    policy = toolspec(GIT, sensitive={"positional": ["repository"]})

    assert denied(policy, "hunter2").reason == (
        "argument 1 is refused (UnknownSubcommand); it is not shown, as it may be sensitive"
    )
    assert denied(policy, "clone", "--hunter2").reason == (
        "argument 2 is refused (UnknownFlag); it is not shown, as it may be sensitive"
    )
    assert '"hunter2"' in denied(toolspec(), "hunter2").reason


def test_what_the_toolkit_itself_names_is_told_all_the_same() -> None:
    policy = toolspec(GIT, sensitive={"positional": ["repository"]})

    assert "--depth" in denied(policy, "clone", "--depth", "hunter2").reason
    assert denied(policy, "clone").reason == "repository is missing"


def test_a_sensitive_value_in_a_variables_name_is_not_shown() -> None:
    found = judged(toolspec(), "status", env={"GIT_TOKEN": "HUNTER"}, given=frozenset({"MY_HUNTER"})).denial

    assert found is not None
    assert "HUNTER" not in found.reason


def test_a_sensitive_variable_given_as_a_word_is_not_shown() -> None:
    secret = "hunter2" * 20

    found = judged(toolspec(GH), "pr", secret, env={"DB_PASSWORD": secret}).denial

    assert found is not None
    assert found.reason == "argument 2 is refused (UnknownSubcommand); it is not shown, as it may be sensitive"


def test_a_sensitive_variable_that_is_a_program_is_not_shown() -> None:
    call = decisions.invocation("/bin/hunter2", env={"DB_PASSWORD": "hunter2"})

    found = decision.judge(toolspec(), call).denial

    assert found is not None
    assert found.reason == 'the tool runs "<redacted id="1"/>", and the toolkit describes "git"'
