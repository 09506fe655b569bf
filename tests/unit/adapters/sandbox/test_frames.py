"""Frames: the golden ones, any split of the stream, and every bound."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator import errors
from toolcall_operator.adapters.sandbox import frames, messages

_WIRE = Path(__file__).resolve().parents[4] / "operator" / "supervisor" / "wire"
GOLDEN: list[dict[str, Any]] = json.loads((_WIRE / "testdata" / "golden.json").read_text())


def golden(*names: str) -> pytest.MarkDecorator:
    """Every golden frame that has these fields."""
    rows = [pytest.param(row, id=row["name"]) for row in GOLDEN if all(name in row for name in names)]
    return pytest.mark.parametrize("row", rows)


@golden("message")
def test_a_golden_message_reads_as_it_says(row: dict[str, Any]) -> None:
    assert frames.Decoder().feed(bytes.fromhex(row["hex"])) == [frames.Control(row["message"])]


@golden("message")
def test_a_golden_message_is_the_same_after_we_wrote_it(row: dict[str, Any]) -> None:
    assert frames.Decoder().feed(frames.encode_control(row["message"])) == [frames.Control(row["message"])]


def test_a_message_is_written_as_the_golden_one_byte_for_byte() -> None:
    [row] = [row for row in GOLDEN if row["name"] == "start with everything"]

    assert frames.encode_control(row["message"]).hex() == row["hex"]


@golden("payloadHex")
def test_a_golden_data_frame_is_read_and_written_byte_for_byte(row: dict[str, Any]) -> None:
    frame = frames.Data(row["channel"], row["stream"], row["offset"], bytes.fromhex(row["payloadHex"]))

    assert frames.Decoder().feed(bytes.fromhex(row["hex"])) == [frame]
    assert frames.encode_data(*frame).hex() == row["hex"]


@golden("error")
def test_no_malformed_golden_frame_is_taken_for_a_message(row: dict[str, Any]) -> None:
    """Frames that are cut short say nothing, all others are refused by their bytes or by what they mean."""
    if row["name"].startswith("a frame that ends inside"):
        assert frames.Decoder().feed(bytes.fromhex(row["hex"])) == []
        return
    with pytest.raises(errors.ProtocolBroken):
        understood(bytes.fromhex(row["hex"]))


def understood(stream: bytes) -> list[messages.Message]:
    return [
        messages.parse(frame.message) for frame in frames.Decoder().feed(stream) if isinstance(frame, frames.Control)
    ]


some_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
some_frames = st.lists(
    st.builds(frames.Control, st.dictionaries(st.text(), some_json))
    | st.builds(
        frames.Data,
        st.integers(1, 2**32 - 1),
        st.integers(0, 2),
        st.integers(0, 2**64 - 1),
        st.binary(min_size=1, max_size=200),
    )
)


def written(frame: frames.Frame) -> bytes:
    return frames.encode_control(frame.message) if isinstance(frame, frames.Control) else frames.encode_data(*frame)


@given(some_frames, st.data())
def test_any_split_of_the_stream_reads_the_same(sent: list[frames.Frame], data: st.DataObject) -> None:
    stream = b"".join(map(written, sent))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    decoder = frames.Decoder()

    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    assert [frame for piece in pieces for frame in decoder.feed(piece)] == sent


@given(st.binary())
def test_any_bytes_are_frames_or_a_broken_protocol_and_nothing_else(stream: bytes) -> None:
    with suppress(errors.ProtocolBroken):
        frames.Decoder().feed(stream)


def test_the_longest_frames_pass() -> None:
    longest = frames.Data(1, frames.STDOUT, 0, bytes(frames.PAYLOAD_LIMIT))
    text = "x" * (frames.CONTROL_LIMIT - len('{"text":""}'))

    assert frames.Decoder().feed(frames.encode_data(*longest)) == [longest]
    assert frames.Decoder().feed(frames.encode_control({"text": text})) == [frames.Control({"text": text})]


@pytest.mark.parametrize(
    "message",
    (
        pytest.param({"text": "x" * frames.CONTROL_LIMIT}, id="longer than allowed"),
        pytest.param({"text": "half a pair: \ud800"}, id="no Unicode"),
    ),
)
def test_what_the_protocol_cannot_carry_is_not_sent(message: dict[str, object]) -> None:
    with pytest.raises(errors.ProtocolBroken):
        frames.encode_control(message)


@pytest.mark.parametrize(
    "body",
    (
        pytest.param('{"a":NaN}', id="a number that JSON does not have"),
        pytest.param("\ufeff{}", id="a byte order mark"),
        pytest.param("[" * 100_000, id="too deep to read"),
        pytest.param('{"a":' + "9" * 5000 + "}", id="a number too long to read"),
    ),
)
def test_what_python_would_read_beyond_json_is_refused(body: str) -> None:
    text = body.encode()

    with pytest.raises(errors.ProtocolBroken, match="not JSON"):
        frames.Decoder().feed((1 + len(text)).to_bytes(4, "big") + b"\x01" + text)


def test_an_error_never_quotes_what_was_sent() -> None:
    text = b'{"env":{"KEY":"do-not-show"}'

    with pytest.raises(errors.ProtocolBroken) as caught:
        frames.Decoder().feed((1 + len(text)).to_bytes(4, "big") + b"\x01" + text)

    assert "do-not-show" not in repr(caught.value)
    assert caught.value.__cause__ is None
