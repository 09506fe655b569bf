"""The suite for calls that may do less than their sandbox lets every call do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.contract import harness
from tests.contract.harness import Harness, Limits
from tests.contract.sandbox import Suite
from toolcall_operator.adapters.sandbox.sandbox import SupervisedSandbox
from toolcall_operator.core.outcomes import Cause, Confinement

NO_NETWORK = Confinement(network=False)
TRUSTED = Confinement(trusted=True)
_REFUSED = 13
_BINDS_WRITES_SINCE = 3  # of Landlock


class ConfineSuite(Suite):
    """Network, writes and programs, each with a call beside it that has them."""

    @pytest.mark.parametrize("way", ("tcp-connect {}", "udp-send {}", "netlink"))
    async def test_a_call_without_network_reaches_nobody(self, box: Harness, way: str) -> None:
        async with _listening(box) as address:
            words = way.format(address).split()
            connected = await box.run(*words)
            confined = await box.run(*words, confinement=NO_NETWORK)

        _did(connected)
        _was_refused(confined)

    @pytest.mark.parametrize(
        "way", ("mptcp-connect {}", "fastopen {} sendto", "fastopen {} sendmsg", "fastopen {} setsockopt")
    )
    async def test_no_call_goes_past_the_guards_of_plain_tcp(self, box: Harness, way: str) -> None:
        async with _listening(box) as address:
            connected = await box.run(*way.format(address).split())
            confined = await box.run(*way.format(address).split(), confinement=NO_NETWORK)

        _was_refused(connected)
        _was_refused(confined)

    async def test_a_call_without_network_has_pairs_of_unix_sockets(self, box: Harness) -> None:
        _did(await box.run("socketpair", confinement=NO_NETWORK))

    async def test_a_call_without_network_writes_and_reads_as_ever(self, box: Harness) -> None:
        file = f"{box.workspace}/{harness.marker()}"

        _did(await box.run("create", file, confinement=NO_NETWORK))
        _did(await box.run("open", file, confinement=NO_NETWORK))

    async def test_a_call_writes_and_renames_below_its_paths(self, box: Harness) -> None:
        folder = await _folder(box)
        bound = _writing(box, f"{box.workspace}/absent", folder)

        _did(await box.run("create", f"{folder}/file", confinement=bound))
        _did(await box.run("rename", f"{folder}/file", f"{folder}/renamed", confinement=bound))
        _did(await box.run("rename-across", folder, confinement=bound))

    async def test_a_call_writes_between_its_paths(self, box: Harness) -> None:
        one, other = await _folder(box), await _folder(box)

        moved = await box.run("rename", f"{one}/kept", f"{other}/moved", confinement=_writing(box, one, other))

        _did(moved)

    @pytest.mark.parametrize("place", ("{workspace}", "{work}/out", "{folder}-beside"))
    async def test_a_call_writes_nowhere_but_below_its_paths(self, box: Harness, place: str) -> None:
        folder = await _folder(box)
        await box.run("put", "644", f"{folder}-beside/file")
        target = f"{place.format(workspace=box.workspace, work=box.work, folder=folder)}/{harness.marker()}"

        confined = await box.run("create", target, confinement=_writing(box, folder))

        _was_refused(confined)
        _did(await box.run("create", target))

    @pytest.mark.parametrize("paths", ((), ("/etc",), ("/no/such/path",)))
    async def test_paths_that_name_no_writable_folder_leave_nothing_to_write(
        self, box: Harness, paths: tuple[str, ...]
    ) -> None:
        folder = await _folder(box)

        _was_refused(await box.run("create", f"{folder}/file", confinement=_writing(box, *paths)))

    async def test_a_path_above_the_writable_folders_leaves_them_and_adds_nothing(self, box: Harness) -> None:
        everywhere = _writing(box, "/")

        _did(await box.run("create", f"{box.workspace}/{harness.marker()}", confinement=everywhere))
        _was_refused(await box.run("create", f"{box.work}/in/planted", confinement=everywhere))

    async def test_a_call_that_writes_nothing_reads_and_has_its_devices(self, box: Harness) -> None:
        folder = await _folder(box)

        _did(await box.run("open", f"{folder}/kept", confinement=_writing(box)))
        assert (await box.run("fill", "/dev/null", "8", confinement=_writing(box))).result.code == 0

    async def test_a_link_in_the_way_of_a_path_widens_nothing(self, box: Harness) -> None:
        folder = await _folder(box)
        link = f"{box.workspace}/{harness.marker()}"
        await box.run("symlink", folder, link)

        for path in (link, f"{link}/below"):
            await box.run("put", "644", f"{folder}/below/file")
            bound = _writing(box, path)
            _was_refused(await box.run("create", f"{folder}/{harness.marker()}", confinement=bound))
            _was_refused(await box.run("create", f"{link}/below/{harness.marker()}", confinement=bound))

    async def test_a_link_out_of_a_path_leads_to_nothing_that_may_be_written(self, box: Harness) -> None:
        folder, other = await _folder(box), await _folder(box)
        await box.run("symlink", other, f"{folder}/out")
        bound = _writing(box, folder)

        _was_refused(await box.run("create", f"{folder}/out/file", confinement=bound))
        _was_refused(await box.run("hardlink", f"{other}/kept", f"{folder}/linked", confinement=bound))
        _did(await box.run("create", f"{folder}/out/file"))

    async def test_the_writes_of_one_call_bind_no_other(self, box: Harness) -> None:
        await box.run("echo", "x", confinement=_writing(box))

        _did(await box.run("create", f"{box.workspace}/{harness.marker()}"))

    async def test_a_program_that_calls_could_have_changed_is_not_run_where_it_must_be_trusted(
        self, box: Harness
    ) -> None:
        folder = await _folder(box)
        await box.run("copy-self", f"{folder}/copied")
        await box.run("symlink", "copied", f"{folder}/link")
        await box.run("symlink", box.tool, f"{folder}/to-the-original")

        for program in ("copied", "link", "to-the-original"):
            trusted = await harness.run(
                box.sandbox, harness.request(f"{folder}/{program}", "echo", "ran", confinement=TRUSTED)
            )
            anyone = await harness.run(box.sandbox, harness.request(f"{folder}/{program}", "echo", "ran"))
            assert (trusted.result.cause, trusted.result.step) == (Cause.NOT_STARTED, "Resolve"), program
            assert (trusted.result.error, trusted.stdout) == ("EACCES", b"")
            assert anyone.stdout == b"ran\n"

    async def test_a_relative_trusted_program_is_not_run(self, box: Harness) -> None:
        name = harness.marker()
        await box.run("copy-self", f"{box.workspace}/{name}")

        ran = await harness.run(box.sandbox, harness.request(f"./{name}", "echo", "ran", confinement=TRUSTED))

        assert (ran.result.cause, ran.result.step, ran.result.error) == (Cause.NOT_STARTED, "Resolve", "EACCES")

    async def test_a_trusted_command_is_found_on_the_path(self, box: Harness) -> None:
        ran = await harness.run(box.sandbox, harness.request("printf", "x", confinement=TRUSTED))

        assert (ran.stdout, ran.result.code) == (b"x", 0)

    async def test_a_trusted_command_that_is_nowhere_is_not_found(self, box: Harness) -> None:
        ran = await harness.run(box.sandbox, harness.request("no-such-command", confinement=TRUSTED))

        assert (ran.result.cause, ran.result.step, ran.result.error) == (Cause.NOT_STARTED, "Exec", "ENOENT")


def _writing(box: Harness, *paths: str) -> Confinement:
    """Writes bound to these paths; a kernel that cannot bind them starts no such call, and has nothing to show."""
    assert isinstance(box.sandbox, SupervisedSandbox)
    if (abi := box.sandbox.hello.landlock_abi) < _BINDS_WRITES_SINCE:
        pytest.skip(f"this kernel offers Landlock ABI {abi}, to bind writes takes {_BINDS_WRITES_SINCE}")
    top = box.workspace.removesuffix(
        "/workspace"
    )  # an embedded sandbox stands in a folder, and is told of it as if not
    return Confinement(writable=tuple(path.removeprefix(top) for path in paths))


def _did(ran: harness.Ran) -> None:
    assert (ran.result.code, ran.stdout[:9]) == (0, b"succeeded"), ran


def _was_refused(ran: harness.Ran) -> None:
    assert (ran.result.code, ran.stdout[:8]) == (_REFUSED, b"refused:"), ran


async def _folder(box: Harness) -> str:
    """A new folder in the workspace, with a file `kept` in it."""
    folder = f"{box.workspace}/{harness.marker()}"
    made = await box.run("put", "644", f"{folder}/kept", stdin=b"kept")
    assert made.result.code == 0
    return folder


@asynccontextmanager
async def _listening(box: Harness) -> AsyncIterator[str]:
    """The address at which another call of the sandbox listens."""
    call = box.call("listen", "60s", limits=Limits(grace=0))
    async with box.sandbox.start(call) as execution:
        yield (await anext(execution.stdout)).decode().strip()
        await box.sandbox.kill(call.uid)
        await harness.ended(execution)
