"""The suite for calls that carry credentials: these reach one process, and nothing else does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.contract import harness
from tests.contract.harness import Harness, Limits
from tests.contract.sandbox import Suite
from tests.logged import logged
from toolcall_operator import errors
from toolcall_operator.adapters.sandbox.sandbox import SupervisedSandbox
from toolcall_operator.core.credentials.carried import Carried, Workspace
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import Confinement, ExecRequest

REFUSED = 13
_OWN = {"HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"}
_BINDS_WRITES_SINCE, _KEEPS_CALLS_APART_SINCE = 3, 6  # of Landlock


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that stands nowhere else, and a way for a call to carry it as TOKEN."""

    value: str

    def carried(
        self,
        beside: Mapping[str, str] | None = None,
        *,
        redacted: bool = False,
        workspace: Workspace = "Shared",
        exclusive: bool = False,
    ) -> Carried:
        """It, and more variables `beside` it; what the call writes is left as it is unless `redacted`."""
        env = {name: Hidden(value) for name, value in {"TOKEN": self.value, **(beside or {})}.items()}
        return Carried(env, redacted, workspace, exclusive)

    def shows_in(self, *texts: object) -> bool:
        """Whether one of the texts, or what one of the objects says of itself, has it."""
        return any(self.value in text for each in texts for text in (str(each), repr(each)))


def carrying(call: ExecRequest, carried: Carried) -> ExecRequest:
    """The call with credentials."""
    return replace(call, credentials=carried)


class CredentialSuite(Suite):
    """How a credential reaches its process, and what is kept from all others."""

    @pytest.fixture
    def secret(self, caplog: pytest.LogCaptureFixture) -> Iterator[Secret]:
        """A secret; whatever is done with it, nothing that we log has it."""
        caplog.set_level(logging.DEBUG)
        secret = Secret(f"secret/+{harness.marker()}=")
        yield secret
        assert not secret.shows_in(logged(caplog))

    async def test_a_credential_reaches_its_process_beside_its_other_variables(
        self, box: Harness, secret: Secret
    ) -> None:
        call = carrying(box.call("env", env={"GIVEN": "1"}), secret.carried({"OTHER": "line\nline ☃"}))

        seen = json.loads((await harness.run(box.sandbox, call)).stdout)

        assert (seen["TOKEN"], seen["OTHER"], seen["GIVEN"]) == (secret.value, "line\nline ☃", "1")
        assert not secret.shows_in(call, call.credentials)

    async def test_a_credential_comes_before_what_the_sandbox_sets(self, box: Harness, secret: Secret) -> None:
        call = carrying(box.call("env", env={"TMPDIR": "of the call"}), secret.carried({"HOME": "/of/the/credentials"}))

        seen = json.loads((await harness.run(box.sandbox, call)).stdout)

        assert seen["HOME"] == "/of/the/credentials"
        assert seen["TMPDIR"] != "of the call"

    async def test_the_next_call_has_nothing_of_it(self, box: Harness, secret: Secret) -> None:
        await harness.run(box.sandbox, carrying(box.call("env"), secret.carried()))

        ran = await box.run("env")

        assert not secret.shows_in(ran)
        assert "TOKEN" not in json.loads(ran.stdout)
        assert not json.loads(ran.stdout).keys() & (_OWN - {"HOME", "TMPDIR"})

    async def test_what_is_written_of_it_is_redacted_unless_it_is_not_to_be(self, box: Harness, secret: Secret) -> None:
        plain = await harness.run(box.sandbox, carrying(box.call("env"), secret.carried()))
        redacted = await harness.run(box.sandbox, carrying(box.call("env"), secret.carried(redacted=True)))
        later = await box.run("echo", f"it was {secret.value}.")

        assert json.loads(plain.stdout)["TOKEN"] == secret.value
        assert json.loads(redacted.stdout)["TOKEN"] == "[redacted]"
        assert later.stdout == b"it was [redacted].\n"
        assert not secret.shows_in(redacted, later)

    async def test_its_value_stands_in_no_command_line_no_list_and_no_file_but_its_own(
        self, box: Harness, secret: Secret
    ) -> None:
        _needs(box, _KEEPS_CALLS_APART_SINCE, "to look beside a call with credentials")
        async with _dwelling(box, secret) as (home, uid):
            assert await box.pids(secret.value) == []
            assert not secret.shows_in(await box.sandbox.calls())
            own = {f"{folder['path']}/kept" for folder in home.values()}
            assert {_tail(file) for file in box.files_with(secret.value)} == {_tail(file) for file in own}
            assert uid not in "".join(own)

        assert await _files_left(box, secret) == []

    async def test_its_folders_are_its_own_empty_and_closed_to_others(self, box: Harness, secret: Secret) -> None:
        _needs(box, _KEEPS_CALLS_APART_SINCE, "to run calls with credentials side by side")
        async with _dwelling(box, secret) as (one, _), _dwelling(box, secret) as (other, _):
            assert one.keys() == _OWN
            assert len({folder["path"] for folder in (*one.values(), *other.values())}) == 2 * len(_OWN)
            assert [(folder["held"], folder["mode"]) for folder in one.values()] == [([], 0o700)] * len(_OWN)

    @pytest.mark.parametrize(
        "way",
        (
            "list-sibling-inputs {home}",
            "list-sibling-inputs {homes}",
            "open {home}/kept",
            "create {home}/planted",
            "rename {home}/kept {home}/moved",
            "rename {home}/kept {workspace}/stolen",
            "hardlink {home}/kept {workspace}/linked",
            "rename {workspace}/text {home}/text",
        ),
    )
    async def test_a_sibling_that_knows_where_they_are_can_do_nothing_there(
        self, box: Harness, secret: Secret, way: str
    ) -> None:
        _needs(box, _KEEPS_CALLS_APART_SINCE, "to run calls with credentials side by side")
        async with _dwelling(box, secret) as (places, _):
            home = places["HOME"]["path"]
            words = way.format(home=home, homes=f"{box.work}/private", workspace=box.workspace).split()
            for sibling in (box.call(*words), carrying(box.call(*words), Secret("another's").carried())):
                ran = await harness.run(box.sandbox, sibling)
                assert (ran.result.code, ran.stdout[:8]) == (REFUSED, b"refused:"), ran

    async def test_they_stay_writable_to_a_call_that_may_write_nothing_else(self, box: Harness, secret: Secret) -> None:
        _needs(box, _BINDS_WRITES_SINCE, "to bind writes")
        call = carrying(box.call("dwell", "0s"), secret.carried())

        ran = await harness.run(box.sandbox, replace(call, confinement=Confinement(writable=())))

        assert (ran.stdout, ran.result.code) == (b"ready\n", 0)

    async def test_a_workspace_to_read_is_read_and_not_written(self, box: Harness, secret: Secret) -> None:
        _needs(box, _BINDS_WRITES_SINCE, "to bind writes")
        reading = secret.carried(workspace="ReadOnly")
        file = f"{box.workspace}/{harness.marker()}"

        read = await harness.run(box.sandbox, carrying(box.call("open", f"{box.workspace}/text"), reading))
        written = await harness.run(box.sandbox, carrying(box.call("create", file), reading))
        where = await harness.run(box.sandbox, carrying(box.call("cwd"), reading))

        assert read.stdout.startswith(b"succeeded")
        assert (written.result.code, written.stdout[:8]) == (REFUSED, b"refused:"), written
        assert where.stdout.decode() == f"{box.workspace}\n"
        assert (await box.run("create", file)).stdout.startswith(b"succeeded")

    async def test_without_a_workspace_a_call_sees_none_and_begins_in_its_home(
        self, box: Harness, secret: Secret
    ) -> None:
        _needs(box, _BINDS_WRITES_SINCE, "to bind writes")
        without = secret.carried(workspace="None")

        where = (await harness.run(box.sandbox, carrying(box.call("cwd"), without))).stdout.decode()
        read = await harness.run(box.sandbox, carrying(box.call("open", f"{box.workspace}/text"), without))
        listed = await harness.run(box.sandbox, carrying(box.call("list-sibling-inputs", box.workspace), without))

        assert where.startswith(f"{box.work}/private/")
        assert where.endswith("/home\n")
        assert (read.result.code, read.stdout[:8]) == (REFUSED, b"refused:"), read
        assert (listed.result.code, listed.stdout[:8]) == (REFUSED, b"refused:"), listed

    async def test_a_call_that_is_to_be_alone_does_not_start_beside_another(self, box: Harness, secret: Secret) -> None:
        alone = carrying(box.call("env"), secret.carried(exclusive=True))
        async with _running(box, box.call("on-term", "0", limits=Limits(grace=5))):
            with pytest.raises(errors.Unavailable, match="another call runs") as refused:
                await harness.run(box.sandbox, alone)
            assert alone.uid not in await box.sandbox.calls()

        assert not secret.shows_in(refused.value)
        assert secret.value in (await harness.run(box.sandbox, alone)).stdout.decode()

    async def test_beside_a_call_that_is_alone_no_other_starts(self, box: Harness, secret: Secret) -> None:
        alone = carrying(box.call("on-term", "0", limits=Limits(grace=5)), secret.carried(exclusive=True))
        other = box.call("echo", "x")
        async with _running(box, alone):
            for refused in (other, carrying(box.call("env"), secret.carried())):
                with pytest.raises(errors.Unavailable, match="no other may run beside it") as error:
                    await harness.run(box.sandbox, refused)
                assert refused.uid not in await box.sandbox.calls()
                assert not secret.shows_in(error.value)
            assert (await box.sandbox.calls())[alone.uid] == "Running"

        assert (await harness.run(box.sandbox, other)).stdout == b"x\n"

    async def test_calls_that_are_alone_follow_one_another_at_once(self, box: Harness, secret: Secret) -> None:
        for _ in range(10):
            call = carrying(box.call("dwell", "0s"), secret.carried(exclusive=True))
            assert (await harness.run(box.sandbox, call)).result.code == 0
            assert (await box.run("echo", "x")).stdout == b"x\n"

    @pytest.mark.parametrize(
        ("env", "more"),
        (
            pytest.param({"TOKEN": "x"}, {}, id="a name that the call has, too"),
            pytest.param({}, {"A=B": "x"}, id="a name with ="),
            pytest.param({}, {"A": "x\0"}, id="a value with NUL"),
        ),
    )
    async def test_credentials_that_break_a_bound_start_nothing(
        self, box: Harness, secret: Secret, env: dict[str, str], more: dict[str, str]
    ) -> None:
        call = carrying(box.call("env", env=env), secret.carried(more))

        with pytest.raises(errors.ProtocolBroken, match=r"start: credentials\.env") as refused:
            await harness.run(box.sandbox, call)

        assert not secret.shows_in(refused.value)
        assert call.uid not in await box.sandbox.calls()


def _needs(box: Harness, abi: int, what: str) -> None:
    """A kernel that cannot do it has nothing to show."""
    assert isinstance(box.sandbox, SupervisedSandbox)
    if (offered := box.sandbox.hello.landlock_abi) < abi:
        pytest.skip(f"this kernel offers Landlock ABI {offered}, {what} takes {abi}")


def _tail(path: str) -> tuple[str, ...]:
    """What tells a file of a home from all others, wherever the sandbox keeps its homes: HOME-NAME, folder, file."""
    return tuple(path.rsplit("/", 3)[1:])


@asynccontextmanager
async def _running(box: Harness, call: ExecRequest) -> AsyncIterator[None]:
    """The call runs; it is ended in the end."""
    async with box.sandbox.start(call) as execution:
        await harness.ready(execution)
        yield
        await box.sandbox.kill(call.uid)
        await harness.ended(execution)


@asynccontextmanager
async def _dwelling(box: Harness, secret: Secret) -> AsyncIterator[tuple[dict[str, Any], str]]:
    """A call that carries the secret, and has written it into every folder that is its own: these, and its UID."""
    call = carrying(box.call("dwell", "60s", limits=Limits(grace=0)), secret.carried())
    async with box.sandbox.start(call) as execution:
        await harness.ready(execution)
        yield json.loads(await anext(execution.stderr)), call.uid
        await box.sandbox.kill(call.uid)
        await harness.ended(execution)


async def _files_left(box: Harness, secret: Secret) -> list[str]:
    """The files that hold the secret once the sandbox has had the time to remove them."""
    found = [""]
    for _ in range(200):
        with contextlib.suppress(OSError):  # Some of them are gone before they are read.
            found = box.files_with(secret.value)
        if not found:
            break
        await asyncio.sleep(0.01)
    return found
