"""What a credential adds to a call on a cluster, by turns with calls that have none."""

from __future__ import annotations

import asyncio
import statistics
from typing import Any

from tests.bench.measured import Measured
from tests.bench.site import Site
from toolcall_operator.adapters.cluster.resources import SECRETS
from toolcall_operator.core.credentials.secrets import CONSENT

CALLS = 100
AT_MOST = 1.15
NAME, KEY = "bench-token", "token"


async def ratio(site: Site) -> Measured:
    """From the creation of a call to its end as a watcher sees it: with a static credential, over without."""
    await site.client.create(SECRETS.within(site.namespace), _secret())
    await _lasts(site, "warm-credential", carried=True)
    took: dict[bool, list[float]] = {False: [], True: []}
    for number in range(2 * CALLS):  # by turns, each kind first as often as the other
        carried = (number % 4) in {1, 2}
        took[carried].append(await _lasts(site, f"credential-{number}", carried=carried))
    value = statistics.median(took[True]) / statistics.median(took[False])
    return Measured("a call with a credential / one without", value, "times", AT_MOST)


async def _lasts(site: Site, name: str, *, carried: bool) -> float:
    began = asyncio.get_running_loop().time()
    more: dict[str, Any] = {"credentials": [_reference(site)]} if carried else {}
    await site.create(name, **more)
    return await site.finished(name) - began


def _secret() -> dict[str, object]:
    metadata = {"name": NAME, "labels": {CONSENT: "true"}}
    value = "ghp_" + "0123456789abcdef" * 2
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {KEY: value}}


def _reference(site: Site) -> dict[str, object]:
    source = {"type": "static", "namespace": site.namespace, "name": NAME, "key": KEY}
    return {"inject": {"envVar": "BENCH_TOKEN"}, "source": source}
