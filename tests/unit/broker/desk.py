"""A broker with Secrets in memory, servers that are scripts, and a clock that is turned by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl

from tests.fakes.egress import FakeEgress
from tests.fakes.secrets import FakeSecrets
from toolcall_operator.api import times
from toolcall_operator.broker.broker import FixedRules, TokenBroker
from toolcall_operator.core.credentials.references import Kind, Reference, Requester, Source
from toolcall_operator.core.credentials.secrets import CONSENT, REFRESH_MATERIAL, SecretObject
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Answer, Request
from toolcall_operator.core.outcomes import Refused

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
ENDPOINT = "https://idp.example/token"
PLACE = "default/github"
SIBLING = "default/github-refresh"
REQUESTER = Requester("default", "build", "uid-of-build")
MARK = "s3cr3t"
"""Is in every value that must not show."""
OLD, NEW, PEERS = f"old-{MARK}-access", f"new-{MARK}-access", f"peers-{MARK}-access"
REFRESH, ROTATED = f"first-{MARK}-refresh", f"second-{MARK}-refresh"
CLIENT_SECRET = f"client-{MARK}"


@dataclass
class Desk:
    """Where credentials are asked for; `outcomes` holds what came of it, faults too."""

    consent_required: bool = True
    trusted_issuers: tuple[str, ...] = ()
    secrets: FakeSecrets = field(default_factory=FakeSecrets)
    egress: FakeEgress = field(default_factory=FakeEgress)
    time: datetime = NOW
    outcomes: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        rules = FixedRules(self.consent_required, self.trusted_issuers)
        self.broker = TokenBroker(self.secrets, self.egress, lambda: self.time, rules)

    async def resolve(self, *sources: Source, requester: Requester = REQUESTER) -> tuple[Hidden, ...] | Refused:
        """What the broker says to references to these sources, in order."""
        references = [
            Reference(f"spec.credentials[{number}]", source, env_var=f"TOKEN_{number}")
            for number, source in enumerate(sources)
        ]
        try:
            outcome = await self.broker.resolve(references, requester)
        except Exception as fault:
            self.outcomes.append(fault)
            raise
        self.outcomes.append(outcome)
        return outcome

    async def value(self, source: Source) -> str:
        """The one credential that is asked for."""
        outcome = await self.resolve(source)
        assert not isinstance(outcome, Refused), outcome
        (only,) = outcome
        return only.reveal()

    async def refusal(self, source: Source) -> Refused:
        """Why it cannot be had; the message begins with where it was asked for."""
        outcome = await self.resolve(source)
        assert isinstance(outcome, Refused)
        assert outcome.path.startswith("spec.credentials[0]")
        assert outcome.message.startswith(outcome.path)
        assert len(outcome.message) <= 1024
        return outcome

    def passes(self, length: timedelta) -> None:
        """So much time goes by."""
        self.time += length

    def keeps(self, place: str = PLACE, **data: str) -> SecretObject:
        """A Secret that calls may use."""
        return self.secrets.put(place, data, labels={CONSENT: "true"})

    def keeps_expiring(self, place: str = PLACE, *, left: timedelta = timedelta(), **data: str) -> SecretObject:
        """A Secret with an access token, which has so much time `left`, and all that renews it."""
        token = {
            "access_token": OLD,
            "expires_at": times.render(self.time + left),
            "refresh_token": REFRESH,
            "token_endpoint": ENDPOINT,
            "client_id": "me",
        }
        return self.keeps(place, **token | data)

    def keeps_material(self, *, labels: tuple[str, ...] = (CONSENT, REFRESH_MATERIAL), **data: str) -> SecretObject:
        """The Secret beside it that holds what renews its token."""
        return self.secrets.put(SIBLING, data, labels=dict.fromkeys(labels, "true"))

    def grants(self, **said: object) -> None:
        """The token endpoint grants this."""
        self.egress.script(ENDPOINT, answer(**said))

    @property
    def forms(self) -> list[dict[str, str]]:
        """What the token endpoint was sent."""
        return [form(request) for request in self.egress.sent_to(ENDPOINT)]


def answer(status: int = 200, /, **said: object) -> Answer:
    """An answer in JSON."""
    return Answer(status, body=json.dumps(said).encode())


def form(request: Request) -> dict[str, str]:
    """What a request says, field by field."""
    return dict(parse_qsl(request.body.decode(), keep_blank_values=True, strict_parsing=True))


def static(key: str = "token", place: str = PLACE) -> Source:
    return _source(Kind.STATIC, place, key=key)


def oauth(place: str = PLACE, *, early: timedelta = MINUTE) -> Source:
    return _source(Kind.OAUTH, place, early=early)


def _source(kind: Kind, place: str, **rest: object) -> Source:
    namespace, name = place.split("/")
    return Source(kind, namespace, name, **rest)  # type: ignore[arg-type]  # its own fields
