"""The suite that every keeper of Secrets must pass: subclass it, and supply the fixture `keeper`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pytest

from toolcall_operator import errors
from toolcall_operator.core.credentials.secrets import CONSENT, SecretObject
from toolcall_operator.ports import Secrets

TOKEN = b"ghp_ThisIsNoToken1234567890"
ANY_BYTES = bytes(range(256))


class Keeper(Protocol):
    """Secrets in one namespace, and somebody else who changes them."""

    namespace: str

    @property
    def secrets(self) -> Secrets:
        """What the suite judges."""
        ...

    @property
    def forbidden(self) -> Secrets:
        """The same, for somebody who may neither read nor write any of them."""
        ...

    async def create(self, name: str, data: Mapping[str, bytes], *, immutable: bool = False) -> None:
        """Somebody else creates a Secret, of type Opaque, that carries the label of consent."""
        ...

    async def change(self, name: str, data: Mapping[str, bytes]) -> None:
        """Somebody else sets these keys of it, and leaves the others."""
        ...

    async def delete(self, name: str) -> None:
        """Somebody else deletes it; it is gone then."""
        ...


class SecretsSuite:
    """What the broker relies on."""

    async def test_a_secret_is_read_with_everything_that_matters(self, keeper: Keeper) -> None:
        await keeper.create("whole", {"token": TOKEN, "any": ANY_BYTES})

        found = await _read(keeper, "whole")

        assert (found.namespace, found.name, found.type, found.immutable) == (
            keeper.namespace,
            "whole",
            "Opaque",
            False,
        )
        assert found.labels[CONSENT] == "true"
        assert found.data == {"token": TOKEN, "any": ANY_BYTES}
        assert found.uid
        assert found.resource_version

    async def test_a_secret_that_is_not_there_is_none(self, keeper: Keeper) -> None:
        assert await keeper.secrets.read(keeper.namespace, "nowhere") is None

    async def test_a_change_shows_in_the_next_read(self, keeper: Keeper) -> None:
        await keeper.create("changed", {"token": b"old"})
        before = await _read(keeper, "changed")

        await keeper.change("changed", {"token": b"new"})

        after = await _read(keeper, "changed")
        assert after.data["token"] == b"new"
        assert after.uid == before.uid
        assert after.resource_version != before.resource_version

    async def test_a_write_sets_keys_removes_keys_and_leaves_the_others(self, keeper: Keeper) -> None:
        await keeper.create("written", {"token": b"old", "expires_at": b"soon", "other": ANY_BYTES})
        found = await _read(keeper, "written")

        written = await keeper.secrets.write(found, {"token": TOKEN, "expires_at": None, "absent": None})

        assert written.data == {"token": TOKEN, "other": ANY_BYTES}
        assert written == await _read(keeper, "written")
        assert written.labels == found.labels

    async def test_what_a_write_returns_can_be_written_again(self, keeper: Keeper) -> None:
        await keeper.create("twice", {"token": b"0"})

        once = await keeper.secrets.write(await _read(keeper, "twice"), {"token": b"1"})
        twice = await keeper.secrets.write(once, {"token": b"2"})

        assert twice.data == {"token": b"2"}
        assert twice == await _read(keeper, "twice")

    async def test_a_secret_that_was_changed_meanwhile_is_left_as_it_is(self, keeper: Keeper) -> None:
        await keeper.create("peer", {"token": b"old"})
        stale = await _read(keeper, "peer")
        await keeper.change("peer", {"other": b"theirs"})

        with pytest.raises(errors.Superseded) as raised:
            await keeper.secrets.write(stale, {"token": TOKEN})

        assert (await _read(keeper, "peer")).data == {"token": b"old", "other": b"theirs"}
        assert TOKEN.decode() not in repr(raised.value)

    async def test_a_secret_that_was_deleted_is_gone(self, keeper: Keeper) -> None:
        await keeper.create("deleted", {"token": b"old"})
        stale = await _read(keeper, "deleted")
        await keeper.delete("deleted")

        with pytest.raises(errors.Gone) as raised:
            await keeper.secrets.write(stale, {"token": TOKEN})

        assert await keeper.secrets.read(keeper.namespace, "deleted") is None
        assert TOKEN.decode() not in repr(raised.value)

    async def test_another_secret_of_the_same_name_is_not_written(self, keeper: Keeper) -> None:
        await keeper.create("again", {"token": b"old"})
        stale = await _read(keeper, "again")
        await keeper.delete("again")
        await keeper.create("again", {"token": b"another"})

        with pytest.raises(errors.Gone):
            await keeper.secrets.write(stale, {"token": TOKEN})

        assert (await _read(keeper, "again")).data == {"token": b"another"}

    async def test_an_immutable_secret_says_so_and_is_not_written(self, keeper: Keeper) -> None:
        await keeper.create("immutable", {"token": b"old"}, immutable=True)
        found = await _read(keeper, "immutable")

        with pytest.raises(errors.Rejected) as raised:
            await keeper.secrets.write(found, {"token": TOKEN})

        assert found.immutable
        assert (await _read(keeper, "immutable")).data == {"token": b"old"}
        assert TOKEN.decode() not in repr(raised.value)

    async def test_who_may_not_read_is_told_so(self, keeper: Keeper) -> None:
        await keeper.create("unreadable", {"token": TOKEN})

        with pytest.raises(errors.Rejected):
            await keeper.forbidden.read(keeper.namespace, "unreadable")

    async def test_who_may_not_write_is_told_so(self, keeper: Keeper) -> None:
        await keeper.create("unwritable", {"token": b"old"})
        found = await _read(keeper, "unwritable")

        with pytest.raises(errors.Rejected) as raised:
            await keeper.forbidden.write(found, {"token": TOKEN})

        assert (await _read(keeper, "unwritable")).data == {"token": b"old"}
        assert TOKEN.decode() not in repr(raised.value)

    async def test_no_value_shows(self, keeper: Keeper, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("DEBUG")
        await keeper.create("hidden", {"token": TOKEN})

        found = await _read(keeper, "hidden")
        written = await keeper.secrets.write(found, {"token": TOKEN + b"2"})

        assert TOKEN.decode() not in f"{found!r} {written!r} {caplog.text}"


async def _read(keeper: Keeper, name: str) -> SecretObject:
    found = await keeper.secrets.read(keeper.namespace, name)
    assert found is not None
    return found
