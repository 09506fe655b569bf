"""Which of its pods is the one of a session."""

from __future__ import annotations

import pytest

from tests.unit.core.session.examples import bound, ended, pod
from toolcall_operator.core.pod import podspec
from toolcall_operator.core.session import view as sessionview


@pytest.mark.parametrize("restarts", (0, 1, 8, 9, 99))
def test_the_number_of_a_pod_is_read_from_the_name_it_was_given(restarts: int) -> None:
    assert sessionview.number_of(podspec.pod_name("work", restarts), "work") == restarts


@pytest.mark.parametrize(
    "name", ("work", "work-pod-1", "work-pod-0", "work-pod-02", "work-pod-x", "works-pod", "a-work-pod", "work-pod-")
)
def test_a_name_we_would_not_have_given_has_no_number(name: str) -> None:
    assert sessionview.number_of(name, "work") is None


def test_the_pod_of_a_session_is_the_one_with_the_highest_number() -> None:
    view = bound(pods=(pod(2), ended(0), pod(10), ended(1)))

    assert (view.restarts, view.pod, view.pod_name) == (10, pod(10), "work-pod-11")
    assert view.earlier == (pod(2), ended(1), ended(0))
