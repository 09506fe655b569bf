"""The suite of Secrets on the fake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from tests.contract.secrets import SecretsSuite
from tests.fakes.secrets import FakeSecrets
from toolcall_operator.core.credentials.secrets import CONSENT


@dataclass
class FakeKeeper:
    secrets: FakeSecrets = field(default_factory=FakeSecrets)
    namespace: str = "default"

    @property
    def forbidden(self) -> FakeSecrets:
        everything = {(deed, place) for place in self.secrets.kept for deed in ("read", "write")}
        return FakeSecrets(self.secrets.kept, forbidden=everything)  # type: ignore[arg-type]  # a literal in a set

    async def create(self, name: str, data: Mapping[str, bytes], *, immutable: bool = False) -> None:
        self.secrets.put(f"{self.namespace}/{name}", data, labels={CONSENT: "true"}, immutable=immutable)

    async def change(self, name: str, data: Mapping[str, bytes]) -> None:
        place = f"{self.namespace}/{name}"
        self.secrets.put(place, {**self.secrets.kept[place].data, **data})

    async def delete(self, name: str) -> None:
        self.secrets.remove(f"{self.namespace}/{name}")


class TestFakeSecrets(SecretsSuite):
    @pytest.fixture
    def keeper(self) -> FakeKeeper:
        return FakeKeeper()
