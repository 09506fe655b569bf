"""Nothing that the models accept is more than a supervisor takes."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.unit.core import examples
from toolcall_operator.core import validation
from toolcall_operator.core.validation import Plan
from toolcall_operator.core.world import World

PROTOCOL = (Path(__file__).parents[3] / "operator" / "supervisor" / "PROTOCOL.md").read_text()
UNITS = {"": 1, " MiB": 1024**2}
MILLISECOND = timedelta(milliseconds=1)


def bound(field: str) -> int:
    """The bound of a field of ``start``, as the protocol states it."""
    stated = re.search(rf"`{field}`(?: and `\w+`)? ≤ ([0-9,]+)( MiB)?", PROTOCOL)
    assert stated is not None, field
    return int(stated[1].replace(",", "")) * UNITS[stated[2] or ""]


def test_the_most_that_can_be_asked_for_is_within_the_protocols_bounds() -> None:
    of_class = examples.session_class(
        limits={"outputBytes": "64Mi"},
        terminationGracePeriod="168h",
        resources={**examples.RESOURCES, "pidsLimit": 4_194_304},
    )

    plan = validation.plan(examples.call(timeout="24h", stdin="x" * 2**20), World(examples.session(), of_class))

    assert isinstance(plan, Plan)
    request = plan.request
    assert (request.pids, request.output_bytes) == (bound("pids"), bound("outputBytes"))
    assert request.grace // MILLISECOND == bound("timeoutMs")
    assert request.timeout // MILLISECOND <= bound("timeoutMs")
    assert len(request.stdin) <= bound("stdinSize")


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    (
        ({"limits": {"outputBytes": 64 * 2**20 + 1}}, "outputBytes", "must be at most 64Mi"),
        ({"terminationGracePeriod": "168h1ms"}, "terminationGracePeriod", "must be at most 168h"),
        ({"resources": {**examples.RESOURCES, "pidsLimit": 4_194_305}}, "pidsLimit", "4194304"),
        ({"resources": {**examples.RESOURCES, "pidsLimit": 0}}, "pidsLimit", "1"),
    ),
)
def test_one_more_is_refused_at_its_field(spec: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(ValidationError, match=f"{field}\n.*{words}"):
        examples.session_class(**spec)


def test_a_command_without_a_name_is_refused() -> None:
    with pytest.raises(ValidationError, match="must begin with the name of a program"):
        examples.session_class({"command": ["", "x"]})
