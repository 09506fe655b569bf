"""What a supervisor says, as frozen values: every field there, none unknown, each of its type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NoReturn

from toolcall_operator import errors
from toolcall_operator.core.outcomes import Cause, StreamSize

VERSION = 1
Network = Literal["Blocked", "Open"]
_NETWORKS: Mapping[str, Network] = {"Blocked": "Blocked", "Open": "Open"}


@dataclass(frozen=True, slots=True)
class Hello:
    """The supervisor's side of the opening."""

    version: int
    boot_id: str
    supervisor: str
    landlock_abi: int
    isolation: str
    network: Network | None = None
    """Whether what it was told to try cannot be reached; None when it was told of nothing."""


@dataclass(frozen=True, slots=True)
class Started:
    """The channel shows its call; `attached` when it had been started before."""

    channel: int
    attached: bool


@dataclass(frozen=True, slots=True)
class Detached:
    """Nothing more comes on the channel."""

    channel: int


@dataclass(frozen=True, slots=True)
class Exit:
    """How the call of a channel ended; `code` is None unless the main process returned one."""

    channel: int
    cause: Cause
    code: int | None
    signal: int | None
    error: str | None
    step: str | None
    duration_ms: int
    stdout: StreamSize
    stderr: StreamSize


@dataclass(frozen=True, slots=True)
class Done:
    """A kill, acknowledge or ping was carried out."""

    id: int


@dataclass(frozen=True, slots=True)
class Calls:
    """Every call of this boot: its state by UID."""

    id: int
    states: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Denied:
    """A request that was not carried out; without channel and id it concerns the whole connection."""

    channel: int | None
    id: int | None
    code: str
    message: str


Message = Hello | Started | Detached | Exit | Done | Calls | Denied


def parse(message: Mapping[str, object]) -> Message:
    """The value that a control frame of a supervisor stands for.

    Raises:
        ProtocolBroken: it is none of them; the text names the field and never its value.
    """
    kind = message.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise errors.ProtocolBroken("the supervisor sent a message of an unknown type")
    fields = _Fields(message)
    value = reader(fields)
    fields.finish()
    return value


class _Fields:
    """Takes the fields of one message one by one; what nobody takes is unknown."""

    __slots__ = ("_kind", "_message", "_taken")

    def __init__(self, message: Mapping[str, object]) -> None:
        self._message = message
        self._kind = message.get("type", "message")
        self._taken = 1 if "type" in message else 0

    def _take(self, name: str) -> object:
        self._taken += 1
        try:
            return self._message[name]
        except KeyError:
            self._wrong(name)

    def number(self, name: str, least: int = 0) -> int:
        value = self._take(name)
        # bool is an int in Python, not in JSON.
        if type(value) is not int or value < least:
            self._wrong(name)
        return value

    def number_or_none(self, name: str) -> int | None:
        return None if self._is_null(name) else self.number(name)

    def text(self, name: str) -> str:
        value = self._take(name)
        if not isinstance(value, str):
            self._wrong(name)
        return value

    def text_or_none(self, name: str) -> str | None:
        return None if self._is_null(name) else self.text(name)

    def flag(self, name: str) -> bool:
        value = self._take(name)
        if not isinstance(value, bool):
            self._wrong(name)
        return value

    def objects(self, name: str) -> list[_Fields]:
        value = self._take(name)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self._wrong(name)
        return [_Fields(item) for item in value]

    def size(self, name: str) -> StreamSize:
        value = self._take(name)
        if not isinstance(value, dict):
            self._wrong(name)
        inner = _Fields(value)
        size = StreamSize(inner.number("size"), inner.number("stored"))
        inner.finish()
        if size.stored > size.size:
            self._wrong(name)
        return size

    def cause(self, name: str) -> Cause:
        try:
            return Cause(self.text(name))
        except ValueError:
            self._wrong(name)

    def network(self, name: str) -> Network | None:
        if name not in self._message:
            return None
        try:
            return _NETWORKS[self.text(name)]
        except KeyError:
            self._wrong(name)

    def optional(self, name: str) -> int | None:
        return self.number(name, 1) if name in self._message else None

    def finish(self) -> None:
        if self._taken != len(self._message):
            raise errors.ProtocolBroken(f"{self._kind}: a field is unknown")

    def _is_null(self, name: str) -> bool:
        null = name in self._message and self._message[name] is None
        self._taken += null
        return null

    def _wrong(self, name: str) -> NoReturn:
        raise errors.ProtocolBroken(f"{self._kind}: {name} is missing or wrong")


def _hello(fields: _Fields) -> Hello:
    return Hello(
        version=fields.number("version", 1),
        boot_id=fields.text("bootID"),
        supervisor=fields.text("supervisor"),
        landlock_abi=fields.number("landlockABI"),
        isolation=fields.text("isolation"),
        network=fields.network("network"),
    )


def _started(fields: _Fields) -> Started:
    return Started(fields.number("channel", 1), fields.flag("attached"))


def _detached(fields: _Fields) -> Detached:
    return Detached(fields.number("channel", 1))


def _exit(fields: _Fields) -> Exit:
    return Exit(
        channel=fields.number("channel", 1),
        cause=fields.cause("cause"),
        code=fields.number_or_none("code"),
        signal=fields.number_or_none("signal"),
        error=fields.text_or_none("error"),
        step=fields.text_or_none("step"),
        duration_ms=fields.number("durationMs"),
        stdout=fields.size("stdout"),
        stderr=fields.size("stderr"),
    )


def _done(fields: _Fields) -> Done:
    return Done(fields.number("id", 1))


def _calls(fields: _Fields) -> Calls:
    number = fields.number("id", 1)
    states: dict[str, str] = {}
    for call in fields.objects("calls"):
        states[call.text("uid")] = call.text("state")
        call.finish()
    return Calls(number, states)


def _refused(fields: _Fields) -> Denied:
    return Denied(fields.optional("channel"), fields.optional("id"), fields.text("code"), fields.text("message"))


_READERS: Mapping[str, Callable[[_Fields], Message]] = {
    "hello": _hello,
    "started": _started,
    "detached": _detached,
    "exit": _exit,
    "killing": _done,
    "acknowledged": _done,
    "pong": _done,
    "calls": _calls,
    "refused": _refused,
}
