"""What is wrong with what a toolspec asks of the runner."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core.policy.loading import policies
from toolcall_operator.core.policy.loading import runnerchecks
from toolcall_operator.core.policy.loading.reasons import Objection, PolicyReason

SUBJECT = {"resourceType": "'repository'", "resourceID": "item.id"}
FACTS = {"open": "item.state == 'open'"}
OBSERVES = {"facts": FACTS, "subjects": [SUBJECT], "forEach": "result.items", "when": "size(args.argv) > 0"}
TUPLE = {"resource": "'repository:' + args.repo", "relation": "'owner'", "subject": "session"}


def structure(**spec: Any) -> dict[str, str]:  # noqa: ANN401 (fields of a manifest)
    found = runnerchecks.structure(policies.spiceboxtoolspec(**spec).spec)
    return {problem.path: problem.message for problem in found}


def test_what_is_whole_has_no_problem_whatever_functions_the_runner_has() -> None:
    spec: dict[str, Any] = {
        "observes": [OBSERVES, {"facts": {"id": "b64.encode(item.id)"}, "subjects": [SUBJECT]}],
        "writesRelationships": [{"tuple": TUPLE, "exclusive": True}],
    }

    assert structure(**spec) == {}
    assert policies.toolspec(**spec).name == "one"


@pytest.mark.parametrize(
    ("block", "path"),
    (
        ({"facts": {}}, "facts"),
        ({"facts": []}, "facts"),
        ({"subjects": []}, "subjects"),
        ({"subjects": None}, "subjects"),
        ({"facts": {"open": 1}}, "facts.open"),
        ({"facts": {"is open": " "}}, 'facts["is open"]'),
        ({"subjects": [SUBJECT, {"resourceType": "'a'"}]}, "subjects[1].resourceID"),
        ({"when": ["true"]}, "when"),
    ),
)
def test_what_an_observation_lacks_is_told_by_its_field(block: dict[str, Any], path: str) -> None:
    assert structure(observes=[{**OBSERVES, **block}]).keys() == {f"spec.observes[0].{path}"}


@pytest.mark.parametrize(
    ("block", "paths"),
    (
        ({}, {"tuple.resource", "tuple.relation", "tuple.subject"}),
        ({"tuple": "a"}, {"tuple.resource", "tuple.relation", "tuple.subject"}),
        ({"tuple": TUPLE, "forEach": 1}, {"forEach"}),
    ),
)
def test_what_a_relationship_lacks_is_told_by_its_field(block: dict[str, Any], paths: set[str]) -> None:
    assert structure(writesRelationships=[block]).keys() == {f"spec.writesRelationships[0].{path}" for path in paths}


def test_what_is_no_expression_is_told_where_it_breaks() -> None:
    found = policies.judged(
        observes=[{**OBSERVES, "facts": {"open": "item. == 1"}}],
        writesRelationships=[{"tuple": {**TUPLE, "subject": "("}}],
    )

    assert isinstance(found, Objection)
    assert found.reason is PolicyReason.CEL_COMPILE_ERROR
    assert "spec.observes[0].facts.open 1:" in found.message
    assert "spec.writesRelationships[0].tuple.subject 1:" in found.message
