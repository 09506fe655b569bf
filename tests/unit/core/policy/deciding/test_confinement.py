"""What the sandbox keeps an allowed call from."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core.policy.deciding.decisions import GIT, READER, allowed, judged, toolspec
from toolcall_operator.core.outcomes import Confinement
from toolcall_operator.core.policy.deciding import confinement

UNDER = {"filesystem": {"pathsUnder": ["/workspace/./src/", "/data"]}}
LIFTED = {"overrides": ["allow.filesystem.pathsUnder"], "when": "true"}


def confined(policy: Any, *argv: str) -> Confinement:  # noqa: ANN401 (a toolspec)
    """How an allowed call is confined."""
    return confinement.of(allowed(policy, *argv))


def test_a_call_without_network_effects_has_no_network() -> None:
    assert confined(toolspec(), "status") == Confinement(network=False, writable=None, trusted=True)


@pytest.mark.parametrize("argv", (("fetch",), ("push",), ("call",)))
def test_a_call_that_has_business_with_the_network_has_one(argv: tuple[str, ...]) -> None:
    assert confined(toolspec(), *argv).network


def test_the_folders_that_are_listed_are_the_only_ones_to_write_to() -> None:
    assert confined(toolspec(allow=UNDER), "add", "src/x").writable == ("/workspace/src", "/data")
    assert confined(toolspec(READER, allow={"filesystem": {"pathsUnder": []}})).writable == ()


def test_folders_that_no_rule_binds_are_not_closed() -> None:
    assert confined(toolspec(), "add", "x").writable is None
    assert confined(toolspec(allow=UNDER, exceptions=[LIFTED]), "add", "/etc/x").writable is None


def test_an_exception_that_was_not_needed_opens_nothing() -> None:
    assert confined(toolspec(allow=UNDER, exceptions=[LIFTED]), "add", "src/x").writable is not None


@pytest.mark.parametrize("argv", (("push",), ("no", "such")))
def test_a_call_that_is_not_allowed_is_not_confined(argv: tuple[str, ...]) -> None:
    with pytest.raises(LookupError):
        confinement.of(judged(toolspec(GIT, "status"), *argv))
