"""A broker that has what it was given, and remembers what it was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from toolcall_operator.core.credentials.references import Reference, Requester
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason


@dataclass
class FakeBroker:
    """Implements `ports.Broker`: the keys of Secrets, by `<namespace>/<name>/<key>`."""

    values: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[tuple[Reference, ...], Requester]] = field(default_factory=list)
    before: Callable[[], None] = lambda: None

    async def resolve(self, references: Sequence[Reference], requester: Requester) -> tuple[Hidden, ...] | Refused:
        """What is there; `before` is called first, and may raise."""
        self.asked.append((tuple(references), requester))
        self.before()
        found = [self.values.get(_place(each)) for each in references]
        for reference, value in zip(references, found, strict=True):
            if value is None:
                message = f"{reference.path}: Secret {_place(reference)} is not there"
                return Refused(Reason.CREDENTIAL_UNRESOLVED, message, reference.path)
        return tuple(Hidden(value) for value in found if value is not None)


def _place(reference: Reference) -> str:
    return f"{reference.source.namespace}/{reference.source.secret}/{reference.source.key}"
