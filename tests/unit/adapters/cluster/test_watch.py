"""What a watch says, however its bytes arrive."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from toolcall_operator import errors
from toolcall_operator.adapters.cluster import watch
from toolcall_operator.adapters.cluster.watch import Bookmark, Change, Expired


def line(kind: str, **fields: object) -> bytes:
    return json.dumps({"type": kind, "object": fields}).encode()


async def in_pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


@pytest.mark.parametrize("pieces", ((b"one\ntwo\n",), (b"o", b"ne", b"\ntw", b"o\n"), (b"one\n", b"two\nthr")))
async def test_lines_are_whole_however_they_arrive_and_one_that_was_cut_off_is_none(pieces: tuple[bytes, ...]) -> None:
    assert [each async for each in watch.lines(in_pieces(*pieces))] == [b"one", b"two"]


async def test_a_line_without_an_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LONGEST_LINE", 8)

    with pytest.raises(errors.Unavailable, match="too long"):
        [each async for each in watch.lines(in_pieces(b"0123456789"))]


def test_a_change_has_its_object_and_its_version() -> None:
    found = {"metadata": {"name": "call", "resourceVersion": "7"}}

    assert watch.read(line("MODIFIED", **found)) == Change(found, "7")
    assert watch.read(line("DELETED", **found)) == Change(found, "7", gone=True)


def test_a_bookmark_is_a_version_and_no_change() -> None:
    assert watch.read(line("BOOKMARK", metadata={"resourceVersion": "8"})) == Bookmark("8")


def test_a_version_that_is_too_old_is_told_apart() -> None:
    with pytest.raises(Expired, match="too old resource version"):
        watch.read(line("ERROR", code=410, message="too old resource version: 1 (612)"))


@pytest.mark.parametrize("said", (line("ERROR", code=500, message="it broke"), b"{", b"[]", line("ADDED", metadata={})))
def test_anything_else_ends_the_watch(said: bytes) -> None:
    with pytest.raises(errors.Unavailable) as raised:
        watch.read(said)

    assert not isinstance(raised.value, Expired)
