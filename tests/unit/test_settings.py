"""Settings: variables, flags, and what is said of those that are wrong."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from toolcall_operator import settings
from toolcall_operator.cli.main import main
from toolcall_operator.cli.meanings import meaning
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


@pytest.mark.parametrize(
    ("name", "said"),
    (
        ("log_level", "What is logged: debug, info, warning or error. [default: info]"),
        ("enforce_network", " true or false. [default: true]"),
        ("calls", " At least 1. [default: 256]"),
        ("fault_budget", " More than 0s. [default: 2m]"),
        ("channel_idle", " kept. [default: 5m]"),
        ("artifacts", " [default: toolcall-artifacts]"),
        ("kubeconfig", " else ~/.kube/config."),
    ),
)
def test_what_is_said_of_a_flag_names_its_values_and_its_default(name: str, said: str) -> None:
    told = " ".join(CliRunner().invoke(main, ["operator", "--help"], terminal_width=10_000).output.split())

    assert meaning(name).endswith(said)
    assert f"{meaning(name)} [{settings.variable(name)}]" in told


def test_a_default_is_the_same_whatever_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCALL_ENFORCE_NETWORK", "false")

    assert meaning("enforce_network").endswith("[default: true]")
    assert "TOOLCALL_ENFORCE_NETWORK=false" in CliRunner().invoke(main, ["settings"]).output
