"""Whatever is done with a secret, it shows nowhere."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import pickle
import pprint
import traceback
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from toolcall_operator.core.credentials.carried import Carried
from toolcall_operator.core.credentials.values import Hidden

TEXT = "hunter2-hunter2"
SECRET = Hidden(TEXT)
CARRIED = Carried({"GH_TOKEN": SECRET})

SHOWS: dict[str, Callable[[], object]] = {
    "repr": lambda: repr(SECRET),
    "str": lambda: str(SECRET),
    "format": lambda: format(SECRET),
    "an f-string": lambda: f"{SECRET}",
    "an f-string of its repr": lambda: f"{SECRET!r}",
    "an f-string of its ASCII": lambda: f"{SECRET!a}",
    "str.format": lambda: "{0} {0!r}".format(SECRET),  # noqa: UP032 (the case)
    "the percent sign": lambda: "%s %r" % (SECRET, SECRET),  # noqa: UP031 (logging formats so)
    "pprint": lambda: pprint.pformat([SECRET]),
    "JSON that makes texts of what it does not know": lambda: json.dumps([SECRET], default=str),
    "a dictionary": lambda: str({SECRET: SECRET}),
    "whoever carries it": lambda: f"{CARRIED} {CARRIED!r}",
    "a copy of whoever carries it": lambda: dataclasses.replace(CARRIED, exclusive=True),
}
"""What can be made of it, and is four stars."""

FAILS: dict[str, Callable[[], object]] = {
    "JSON": lambda: json.dumps(SECRET),
    "JSON by pydantic": lambda: to_json(CARRIED),
    "pickle": lambda: pickle.dumps(SECRET),
    "pickle of whoever carries it": lambda: pickle.dumps(CARRIED),
    "its state": SECRET.__getstate__,
    "copy": lambda: copy.copy(SECRET),
    "deepcopy": lambda: copy.deepcopy(SECRET),
    "deepcopy of whoever carries it": lambda: copy.deepcopy(CARRIED),
    "asdict": lambda: dataclasses.asdict(SECRET),  # type: ignore[call-overload]  # it is no dataclass: the case
    "astuple": lambda: dataclasses.astuple(SECRET),  # type: ignore[call-overload]  # likewise
    "fields": lambda: dataclasses.fields(SECRET),  # type: ignore[arg-type]  # likewise
    "replace": lambda: dataclasses.replace(SECRET),  # type: ignore[type-var]  # likewise
    "asdict of whoever carries it": lambda: dataclasses.asdict(CARRIED),
    "vars": lambda: vars(SECRET),
    "addition": lambda: "token " + SECRET,  # type: ignore[operator]  # it is no text: the case
    "join": lambda: " ".join(iter((SECRET,))),  # type: ignore[arg-type]  # likewise
    "bytes": lambda: bytes(SECRET),  # type: ignore[call-overload]  # likewise
    "iteration": lambda: list(SECRET),  # type: ignore[call-overload]  # likewise
    "order": lambda: sorted([SECRET, Hidden(TEXT + TEXT)]),  # type: ignore[type-var]  # likewise
    "an attribute of another name": lambda: SECRET.text,  # type: ignore[attr-defined]  # the case
    "an unknown format": lambda: f"{SECRET:d}",
}
"""What cannot be made of it, and whose exception does not tell it."""


def test_it_is_revealed_to_whoever_asks_for_it() -> None:
    assert SECRET.reveal() == TEXT


@pytest.mark.parametrize("show", SHOWS.values(), ids=SHOWS.keys())
def test_whatever_shows_it_shows_stars(show: Callable[[], object]) -> None:
    shown = str(show())

    assert "****" in shown
    assert "hunter2" not in shown


@pytest.mark.parametrize("make", FAILS.values(), ids=FAILS.keys())
def test_it_is_not_had_in_another_form_and_the_exception_does_not_tell_it(make: Callable[[], object]) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)) as raised:
        make()

    assert "hunter2" not in "".join(traceback.format_exception(raised.value))
    assert "hunter2" not in repr(raised.value)


def test_a_width_is_that_of_the_stars() -> None:
    assert f"{SECRET:>6}" == "  ****"


@given(st.text(), st.sampled_from(("", "s", ">10", "*^9", ".2")))
def test_how_it_shows_does_not_depend_on_it(text: str, spec: str) -> None:
    assert format(Hidden(text), spec) == format(SECRET, spec)
    assert repr(Hidden(text)) == str(Hidden(text)) == "****"


def test_logs_do_not_tell_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    logging.getLogger("credentials").debug("%s and %r and %s", SECRET, SECRET, CARRIED, extra={"secret": SECRET})

    assert "****" in caplog.text
    assert "hunter2" not in caplog.text
    assert "hunter2" not in repr([vars(record) for record in caplog.records])


def test_an_exception_that_holds_it_tells_it_in_no_traceback() -> None:
    with pytest.raises(LookupError) as raised:
        _fails_with(SECRET)

    told = traceback.TracebackException.from_exception(raised.value, capture_locals=True)
    assert "****" in "".join(told.format())
    assert "hunter2" not in "".join(told.format())


def _fails_with(secret: Hidden) -> None:
    held = {"GH_TOKEN": secret, "carried": Carried({"GH_TOKEN": secret})}
    raise LookupError(secret, held)


def test_it_does_not_change() -> None:
    made = Hidden(TEXT)

    with pytest.raises(AttributeError, match="does not change"):
        made._text = "other"  # noqa: SLF001 (the case)
    with pytest.raises(AttributeError):
        made.more = "other"
    assert made.reveal() == TEXT


@given(st.text(), st.text())
def test_two_are_equal_if_what_they_hide_is(one: str, other: str) -> None:
    assert (Hidden(one) == Hidden(other)) is (one == other)
    assert len({Hidden(one), Hidden(other)}) == len({one, other})
    assert hash(Hidden(one)) == hash(Hidden(one))


@pytest.mark.parametrize("other", (TEXT, "****", None, TEXT.encode()))
def test_it_equals_nothing_that_is_no_secret(other: object) -> None:
    assert other != SECRET
    assert len({SECRET, other}) == 2
