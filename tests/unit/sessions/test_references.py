"""Who refers to what is found by what is referred to, and nothing is left of who does not any more."""

from __future__ import annotations

from toolcall_operator.sessions.references import References


def test_those_that_refer_to_a_name_are_found_by_it() -> None:
    references: References[str, int] = References()
    references.refer(1, ("a", "b"))
    references.refer(2, ("b",))

    assert [sorted(references.to(name)) for name in "abc"] == [[1], [1, 2], []]


def test_whoever_refers_to_something_else_does_not_refer_to_what_was_before() -> None:
    references: References[str, int] = References()
    references.refer(1, ("a", "b"))
    references.refer(1, ("b", "c"))

    assert [sorted(references.to(name)) for name in "abc"] == [[], [1], [1]]


def test_nothing_is_left_of_whoever_refers_to_nothing() -> None:
    references: References[str, int] = References()
    references.refer(1, ("a",))
    references.refer(1, ())
    references.refer(2, ())

    assert vars(references) == vars(References())
