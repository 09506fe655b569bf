"""The cluster that is used: the user's, else kind, else a local one, else the reason why there is none."""

from __future__ import annotations

import pytest

from hack.cluster import choice, kind, layout, local
from hack.cluster.say import Impossible


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine that can have a local cluster, and where nothing was started yet."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setattr(kind, "is_started", lambda: False)
    monkeypatch.setattr(kind, "is_possible", lambda: False)
    monkeypatch.setattr(local, "node", lambda: None)
    monkeypatch.setattr(local, "obstacles", list)
    return monkeypatch


def test_a_cluster_of_the_users_own_comes_first(machine: pytest.MonkeyPatch) -> None:
    machine.setenv("KUBECONFIG", "/theirs")
    machine.setattr(kind, "is_possible", lambda: True)

    assert choice.chosen().kubeconfig == "/theirs"


def test_the_kubeconfig_of_a_cluster_that_was_started_here_is_not_the_users_own(machine: pytest.MonkeyPatch) -> None:
    machine.setenv("KUBECONFIG", str(layout.KUBECONFIG))

    assert choice.chosen().what == "a local one"


def test_kind_is_used_where_a_docker_daemon_answers(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(kind, "is_possible", lambda: True)

    assert choice.chosen().what == "kind"


def test_a_local_one_that_runs_is_kept_when_a_docker_daemon_appears(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(kind, "is_possible", lambda: True)
    machine.setattr(local, "node", lambda: 1)

    assert choice.chosen().what == "a local one"


def test_where_there_can_be_none_every_reason_is_named(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(local, "obstacles", lambda: ["it needs Linux", "it needs root"])

    with pytest.raises(Impossible, match=r"KUBECONFIG .* Docker daemon .*: it needs Linux; it needs root$"):
        choice.chosen()
