"""Which labels meet which selector."""

from __future__ import annotations

from typing import Any

import pytest

from toolcall_operator.api.selectors import LabelSelector
from toolcall_operator.core import selectors

LABELS = {"team": "a", "tier": "test"}


def demand(operator: str, *values: str, key: str = "team") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}


@pytest.mark.parametrize(
    ("selector", "holds"),
    (
        pytest.param({}, True, id="a selector without demands is met by all"),
        pytest.param({"matchLabels": {"team": "a", "tier": "test"}}, True, id="every label has its value"),
        pytest.param({"matchLabels": {"team": "a", "tier": "live"}}, False, id="one label has another value"),
        pytest.param({"matchLabels": {"zone": "1"}}, False, id="a label is not there"),
        pytest.param(demand("In", "a", "b"), True, id="the value is one of the list"),
        pytest.param(demand("In", "b"), False, id="the value is none of the list"),
        pytest.param(demand("In", "b", key="zone"), False, id="a label that is not there is in no list"),
        pytest.param(demand("NotIn", "b"), True, id="the value is not in the list"),
        pytest.param(demand("NotIn", "a"), False, id="the value is in the list"),
        pytest.param(demand("NotIn", "b", key="zone"), True, id="a label that is not there has none of the values"),
        pytest.param(demand("Exists"), True, id="the label is there"),
        pytest.param(demand("Exists", key="zone"), False, id="the label that has to be there is not"),
        pytest.param(demand("DoesNotExist", key="zone"), True, id="the label is not there"),
        pytest.param(demand("DoesNotExist"), False, id="the label that must not be there is"),
        pytest.param(
            {"matchLabels": {"team": "a"}, **demand("Exists", key="zone")}, False, id="both parts have to hold"
        ),
    ),
)
def test_labels_meet_a_selector_as_kubernetes_reads_it(selector: dict[str, Any], *, holds: bool) -> None:
    assert selectors.matches(LabelSelector.model_validate(selector), LABELS) is holds
