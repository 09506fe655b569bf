"""Settings: variables, flags, and what is said of those that are wrong."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from toolcall_operator import settings
from toolcall_operator.cli.main import main
from toolcall_operator.cli.operator import read
from toolcall_operator.cli.refusal import Refusal
from toolcall_operator.settings import OperatorSettings


def test_a_flag_comes_before_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCALL_CALLS", "7")
    monkeypatch.setenv("TOOLCALL_NAMESPACES", "a, b")

    assert (read({}).calls, read({}).namespaces) == (7, ("a", "b"))
    assert (read({"calls": "9"}).calls, read({"namespaces": "c"}).namespaces) == (9, ("c",))


@pytest.mark.parametrize(
    ("name", "value"), (("calls", "0"), ("pod_tasks", "many"), ("log_level", "loud"), ("enforce_network", "perhaps"))
)
def test_a_wrong_setting_is_named_by_its_flag_and_its_variable(name: str, value: str) -> None:
    with pytest.raises(Refusal) as refusal:
        read({name: value})

    assert settings.flag(name) in refusal.value.message
    assert settings.variable(name) in refusal.value.message


def test_every_setting_is_listed_with_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCALL_NAMESPACES", "team-a,team-b")

    told = CliRunner().invoke(main, ["settings"])

    assert told.exit_code == 0
    assert "team-a,team-b" in told.output
    for name in OperatorSettings.model_fields:
        assert settings.flag(name) in told.output
        assert settings.variable(name) in told.output


def test_the_help_of_the_operator_tells_every_flag() -> None:
    told = CliRunner().invoke(main, ["operator", "--help"])

    assert told.exit_code == 0
    assert all(settings.flag(name) in told.output for name in OperatorSettings.model_fields)
