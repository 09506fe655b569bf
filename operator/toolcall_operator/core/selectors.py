"""Whether labels meet a selector, as Kubernetes reads one."""

from __future__ import annotations

from collections.abc import Mapping

from toolcall_operator.api.selectors import LabelSelector, Requirement


def matches(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether labels meet every demand of a selector; one without demands is met by all."""
    exact = all(labels.get(key) == value for key, value in selector.match_labels.items())
    return exact and all(_meets(demand, labels) for demand in selector.match_expressions)


def _meets(demand: Requirement, labels: Mapping[str, str]) -> bool:
    match demand.operator:
        case "In":
            return labels.get(demand.key) in demand.values
        case "NotIn":  # a label that is not there has none of the values
            return labels.get(demand.key) not in demand.values
        case "Exists":
            return demand.key in labels
        case "DoesNotExist":
            return demand.key not in labels
