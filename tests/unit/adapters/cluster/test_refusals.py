"""What answers that are none mean."""

from __future__ import annotations

import json

import pytest

from toolcall_operator import errors
from toolcall_operator.adapters.cluster import refusals
from toolcall_operator.adapters.cluster.refusals import Refusal
from toolcall_operator.adapters.cluster.resources import PODS, TOOLCALLS

STATUS = TOOLCALLS.named("call", "space").part("status")
NO_RIGHT = 'pods is forbidden: User "system:serviceaccount:a:b" cannot create resource "pods" in API group ""'
QUOTA = 'pods "p" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1'


@pytest.mark.parametrize(
    ("verb", "refusal", "kind"),
    (
        pytest.param("patch", Refusal(400), errors.Rejected, id="a bad request"),
        pytest.param("patch", Refusal(401), errors.Unavailable, id="nobody knows us"),
        pytest.param("patch", Refusal(403, NO_RIGHT), errors.Unavailable, id="a right to write lacks"),
        pytest.param("create", Refusal(403, NO_RIGHT), errors.Unavailable, id="a right to create lacks"),
        pytest.param("create", Refusal(403, QUOTA), errors.Rejected, id="a quota is used up"),
        pytest.param("get", Refusal(403, "no"), errors.Unavailable, id="a right to read lacks"),
        pytest.param("exec", Refusal(403, "a policy says no"), errors.Unavailable, id="a policy forbids an exec"),
        pytest.param("get", Refusal(404, about="call"), errors.Gone, id="the object is not there"),
        pytest.param("get", Refusal(404), errors.Unavailable, id="the kind is not there"),
        pytest.param("create", Refusal(409, about="call"), errors.Superseded, id="one of this name is there"),
        pytest.param("update", Refusal(409), errors.Superseded, id="somebody wrote before us"),
        pytest.param("delete", Refusal(409), errors.Superseded, id="it has another UID"),
        pytest.param("patch", Refusal(409), errors.Unavailable, id="too many write at once"),
        pytest.param("patch", Refusal(413), errors.Rejected, id="too large to be read"),
        pytest.param("patch", Refusal(422), errors.Rejected, id="against a rule"),
        pytest.param("patch", Refusal(429), errors.Unavailable, id="too busy"),
        pytest.param("patch", Refusal(500), errors.Unavailable, id="broken"),
        pytest.param(
            "patch", Refusal(500, "etcdserver: request is too large"), errors.Rejected, id="too large to keep"
        ),
        pytest.param(
            "patch",
            Refusal(500, "rpc error: code = ResourceExhausted desc = trying to send message larger than max"),
            errors.Rejected,
            id="too large to send on",
        ),
        pytest.param("patch", Refusal(503), errors.Unavailable, id="not there now"),
        pytest.param("patch", Refusal(504), errors.Unavailable, id="too slow"),
        pytest.param("get", Refusal(302), errors.Unavailable, id="elsewhere"),
    ),
)
def test_each_refusal_has_its_error(verb: str, refusal: Refusal, kind: type[errors.OperatorError]) -> None:
    assert type(refusals.error(verb, STATUS, refusal)) is kind


def test_a_lacking_right_is_named() -> None:
    error = refusals.error("patch", STATUS, Refusal(403, 'User "me" cannot patch'))

    assert str(error) == 'we have no right to patch toolcalls/status: User "me" cannot patch'


def test_a_right_that_lacks_is_seen_however_long_the_message() -> None:
    message = f'pods is forbidden: User "{"x" * 300}" cannot create resource "pods"'

    assert type(refusals.error("create", PODS.within("space"), Refusal(403, message))) is errors.Unavailable


def test_the_server_s_text_is_bounded_and_in_one_line() -> None:
    error = str(refusals.error("create", PODS.within("space"), Refusal(422, "one\ntwo\x1b[31m" + "x" * 10_000)))

    assert error.startswith("cannot create pods space: one two")
    assert error.isprintable()
    assert len(error) < 300


@pytest.mark.parametrize(
    ("body", "expected"),
    (
        pytest.param(
            {"message": "no", "details": {"name": "x", "kind": "pods"}}, Refusal(404, "no", "x"), id="a Status"
        ),
        pytest.param({"message": None, "details": None}, Refusal(404), id="an empty one"),
        pytest.param({"details": []}, Refusal(404), id="one of an odd shape"),
        pytest.param([1], Refusal(404), id="something else"),
    ),
)
def test_what_the_server_says_is_read(body: object, expected: Refusal) -> None:
    assert Refusal.parse(404, json.dumps(body).encode()) == expected


def test_a_body_that_is_no_json_tells_nothing() -> None:
    assert Refusal.parse(404, b"404 page not found\n") == Refusal(404)


def test_a_message_does_not_show_in_a_repr() -> None:
    assert "told" not in repr(Refusal(422, "told in confidence"))
