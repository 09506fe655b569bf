"""What a status says about the output of a call that was started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toolcall_operator.api.toolcallstatus import Result, StreamStatus
from toolcall_operator.core import plaintext
from toolcall_operator.core.outcomes import Cause, Ended, Lost, Stored


@dataclass(frozen=True, slots=True)
class Stream:
    """One output stream: `size` bytes were written (or arrived, of a lost call), `kept` of them can be had again."""

    name: str
    size: int
    stored: Stored
    whole: bool

    @property
    def kept(self) -> int:
        """Bytes in the artifact store; none when it did not take them."""
        return self.stored.size if self.stored.ref else 0

    @property
    def truncated(self) -> bool:
        """Whether bytes the tool wrote cannot be had again, or may have been lost on the way."""
        return self.kept < self.size or not (self.whole or self.size == 0)


def streams(outcome: Ended | Lost) -> tuple[Stream, ...]:
    """Standard output and standard error, in this order; none of a process that never came to be."""
    if isinstance(outcome, Lost):
        return tuple(
            Stream(name, stored.size, stored, whole=False)
            for name, stored in (("stdout", outcome.stdout), ("stderr", outcome.stderr))
        )
    result = outcome.result
    if result.cause is Cause.NOT_STARTED:
        return ()
    whole = result.cause is not Cause.LOST
    return (
        Stream("stdout", result.stdout.size, outcome.stdout, whole),
        Stream("stderr", result.stderr.size, outcome.stderr, whole),
    )


def fields(outcome: Ended | Lost, *, is_error: bool) -> dict[str, Any]:
    """The fields of a status that tell of the output, by attribute; a field that has nothing to tell is left out."""
    found = streams(outcome)
    update: dict[str, Any] = {}
    for stream in found:
        update |= _fields(stream)
    if found:
        update["result"] = _result(found[0], is_error=is_error)
    return update


def problems(outcome: Ended | Lost) -> Iterator[str]:
    """A sentence for every stream of which less is kept than was to be: by the artifact store, or by the sandbox."""
    for name, stored in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if stored.problem:
            yield f"{name} was not stored: {stored.problem}"
    if isinstance(outcome, Ended):
        for name, stream in (("stdout", outcome.result.stdout), ("stderr", outcome.result.stderr)):
            if stream.stored < min(stream.size, outcome.output_bytes):
                yield f"{name}: the sandbox could keep only {stream.stored} of {stream.size} bytes"


def _fields(stream: Stream) -> dict[str, Any]:
    name, ref = stream.name, stream.stored.ref
    update: dict[str, Any] = {name: StreamStatus(size=stream.size, sha256=(ref and stream.stored.sha256) or None)}
    if ref:
        update[f"{name}_artifact_ref"] = ref
    if stream.truncated:
        update[f"{name}_truncated"] = True
    return update


def _result(stdout: Stream, *, is_error: bool) -> Result:
    text, cut = plaintext.head(stdout.stored.head, stdout.size)
    return Result(
        kind="Exec",
        is_error=is_error,
        text=text,
        truncated=cut or not (stdout.whole or stdout.size == 0),
        size=stdout.size,
        artifact_ref=stdout.stored.ref or None,
    )
