"""How often a token endpoint is asked when many calls need the same token at the instant at which it expires."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

from tests import identityproviders
from tests.bench.measured import Measured
from tests.fakes.secrets import FakeSecrets
from tests.identityproviders import IdentityProviders
from toolcall_operator.adapters.egress.egress import HttpEgress
from toolcall_operator.adapters.egress.policy import Policy
from toolcall_operator.broker.broker import FixedRules, TokenBroker
from toolcall_operator.core.credentials.references import Kind, Reference, Requester, Source
from toolcall_operator.core.credentials.secrets import CONSENT
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import Refused

CALLS = 50
KIND = "POST /idp/token refresh_token"
PLACE = "default/bench"
REFERENCE = Reference("spec.credentials[0]", Source(Kind.OAUTH, "default", "bench"), env_var="TOKEN")
REQUESTER = Requester("default", "bench", "uid-of-bench")


def measured() -> Measured:
    """What a server counted that verifies what a real one does.

    Nor can it be none: if it is not too many, every call has the token that the server gave.
    """
    with (
        tempfile.TemporaryDirectory(prefix="toolcall-bench-") as folder,
        identityproviders.started(Path(folder)) as servers,
    ):
        count = asyncio.run(_refreshes(servers))
    return Measured(f"refreshes for {CALLS} calls at the instant of expiry", count, "requests", at_most=1)


async def _refreshes(servers: IdentityProviders) -> int:
    secrets, expired = FakeSecrets(), servers.oauth(ends=_now())
    secrets.put(PLACE, expired, labels={CONSENT: "true"})
    found = await _resolved(servers, secrets)
    count = sum(servers.counts().get(KIND, {}).values())
    renewed = Hidden(secrets.text(PLACE)["access_token"])
    served = renewed.reveal() != expired["access_token"] and found == [(renewed,)] * CALLS
    assert served or count > 1, "not every call has a new token, though no refresh was one too many"
    return count


async def _resolved(servers: IdentityProviders, secrets: FakeSecrets) -> list[tuple[Hidden, ...] | Refused]:
    """What calls are given that all ask at the same time."""
    async with AsyncExitStack() as held:
        egress = HttpEgress(Policy.parse([servers.origin], servers.ca))
        held.push_async_callback(egress.aclose)
        broker = TokenBroker(secrets, egress, _now, FixedRules())
        held.push_async_callback(broker.aclose)
        return await asyncio.gather(*(broker.resolve([REFERENCE], REQUESTER) for _ in range(CALLS)))


def _now() -> datetime:
    return datetime.now(UTC)
