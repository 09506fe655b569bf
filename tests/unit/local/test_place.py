"""What an embedded run passes over, and that it says so field by field."""

from __future__ import annotations

from typing import Any

import pytest

from toolcall_operator.api import parsing
from toolcall_operator.api.base import API_VERSION
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.core import support
from toolcall_operator.local import place

RESOURCES = {"cpu": "1", "memory": "1Mi", "ephemeralStorage": "1Mi"}
ALWAYS = ("spec.resources.cpu", "spec.resources.ephemeralStorage")


def parsed(kind: str, spec: dict[str, Any]) -> SpiceboxClass | SpiceboxSession:
    read = parsing.parse({"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": "x"}, "spec": spec})
    assert isinstance(read, SpiceboxClass | SpiceboxSession)
    return read


@pytest.mark.parametrize(
    ("spec", "named"),
    (
        ({}, ()),
        ({"image": "debian"}, ("spec.image",)),
        ({"network": {"mode": "none"}}, ("spec.network.mode",)),
        ({"network": {}}, ()),
        ({"pod": {"nodeSelector": {"a": "b"}}}, ("spec.pod",)),
        ({"limits": {"outputBytes": 1}}, ()),
        ({"writablePaths": ["/opt"]}, ()),
    ),
    ids=(
        "what has to be set",
        "one field",
        "one of a section",
        "an empty section",
        "a whole section",
        "works",
        "refused",
    ),
)
def test_the_fields_of_a_class_that_somebody_set_in_vain_are_named(
    spec: dict[str, Any], named: tuple[str, ...]
) -> None:
    found = place.without_effect(parsed("SpiceboxClass", {"resources": RESOURCES, **spec}))

    assert found == tuple(sorted((*ALWAYS, *named)))


def test_the_fields_of_a_session_are_named_too() -> None:
    session = parsed(
        "SpiceboxSession", {"class": "tools", "idleTTL": "1h", "maxDuration": "2h", "defaultEnv": {"A": "b"}}
    )

    assert place.without_effect(session) == ("spec.idleTTL", "spec.maxDuration")


def test_what_is_lacking_is_a_matter_of_the_place() -> None:
    assert set(place.LACKING) <= support.OF_THE_PLACE
