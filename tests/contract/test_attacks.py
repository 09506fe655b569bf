"""Every measure, seen from the attack it is for: without it the attack succeeds, with it the attack is refused."""

from __future__ import annotations

import ctypes
import os
import platform
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from tests.contract import attacks, embedded, harness, podlike
from tests.contract.attacks import ATTACKS, EMBEDDED, POD, REFUSED, Attack, Scene
from tests.contract.harness import MEMORY, Limits
from tests.contract.programs import Programs
from toolcall_operator.core.outcomes import Cause

_SCOPES_SINCE = 6
_LANDLOCK_CREATE_RULESET = 444  # the same on every architecture
_VERSION = 1
_HIDDEN = Path("/etc/passwd")

Scenes = Callable[[str, tuple[str, ...] | None], AbstractAsyncContextManager[Scene]]


def kernels_landlock() -> int:
    """The Landlock ABI that this kernel offers; 0 without Landlock."""
    answer = ctypes.CDLL(None, use_errno=True).syscall(_LANDLOCK_CREATE_RULESET, None, 0, _VERSION)
    return max(int(answer), 0)


def needs_kernel(attack: Attack) -> None:
    """Skip what this kernel cannot refuse, and say why."""
    if kernels_landlock() < _SCOPES_SINCE and "seccomp" not in attack.measures:
        pytest.skip(f"Linux {platform.release()} offers Landlock ABI {kernels_landlock()}, scopes need {_SCOPES_SINCE}")


def needs_a_home(attack: Attack) -> None:
    """Skip what needs a victim that carries credentials where no attacker runs beside one, and say why."""
    if kernels_landlock() < _SCOPES_SINCE and "{home" in attack.words:
        pytest.skip(f"Linux {platform.release()} offers Landlock ABI {kernels_landlock()}: the victim would run alone")


@contextmanager
def surroundings(folder: Path) -> Iterator[dict[str, str]]:
    """What an embedded sandbox must be kept from: a socket, an open folder, a terminal, a file."""
    outside = folder / "outside"
    outside.mkdir(exist_ok=True)
    path = outside / "socket"
    path.unlink(missing_ok=True)
    terminal = os.openpty()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        yield {"outside": str(outside), "socket": str(path), "hidden": str(_HIDDEN)}
    for end in terminal:
        os.close(end)


@pytest.fixture
def scenes(programs: Programs, tmp_path: Path) -> Scenes:
    """Makes a sandbox of a kind with a victim: of the ordinary supervisor (None), or without the measures named."""

    @asynccontextmanager
    async def made(kind: str, without: tuple[str, ...] | None) -> AsyncIterator[Scene]:
        binary = programs.supervisor if without is None else programs.weakened
        env = {} if without is None else {"TOOLCALL_WITHOUT": ",".join(without)}
        if kind == POD:
            recipe = podlike.Recipe(binary, programs.tool, tmp_path / "pod", env)
            async with podlike.running(recipe) as pod, attacks.scene(pod, {"serve": "1"}) as scene:
                yield scene.with_place("shim", pod.parent_of(scene.places["victim"]))
            return
        folder = embedded.running(binary, programs.tool, tmp_path / "sandbox", env=env, hide=(_HIDDEN.parent,))
        with surroundings(tmp_path) as places:
            async with folder as box, attacks.scene(box, {**places, "serve": str(box.pid)}) as scene:
                yield scene.with_place("shim", box.parent_of(scene.places["victim"]))

    return made


KINDS = pytest.mark.parametrize("kind", (EMBEDDED, POD))
CASES = tuple((attack, kind) for attack in ATTACKS for kind in sorted(attack.on))
every_attack = pytest.mark.parametrize(
    ("attack", "kind"), tuple(pytest.param(attack, kind, id=f"{attack.name}, {kind}") for attack, kind in CASES)
)
every_measure = pytest.mark.parametrize(
    ("attack", "kind", "measure"),
    tuple(
        pytest.param(attack, kind, measure, id=f"{attack.name}, {kind}, against {measure} alone")
        for attack, kind in CASES
        for measure in attack.measures
        if len(attack.measures) > 1
    ),
)


@every_attack
async def test_without_its_measures_an_attack_succeeds(scenes: Scenes, attack: Attack, kind: str) -> None:
    """Seen to work, so that a refusal means something."""
    needs_a_home(attack)
    async with scenes(kind, attack.measures) as scene:
        ran = await scene.attempt(attack)

    assert (ran.result.code, ran.stdout[:9]) == (0, b"succeeded"), ran


@every_attack
async def test_the_attack_is_refused(scenes: Scenes, attack: Attack, kind: str) -> None:
    needs_kernel(attack)
    async with scenes(kind, None) as scene:
        ran = await scene.attempt(attack)

    assert (ran.result.code, ran.stdout[:8]) == (REFUSED, b"refused:"), ran


@every_measure
async def test_each_measure_alone_refuses_the_attack(scenes: Scenes, attack: Attack, kind: str, measure: str) -> None:
    needs_kernel(attack)
    async with scenes(kind, tuple(other for other in attack.measures if other != measure)) as scene:
        ran = await scene.attempt(attack)

    assert (ran.result.code, ran.stdout[:8]) == (REFUSED, b"refused:"), ran


@pytest.mark.parametrize(
    "without",
    (
        pytest.param(attacks.ALL_MEASURES, id="without any measure"),
        pytest.param(("landlock-scopes",), id="where signals are not kept apart"),
    ),
)
async def test_a_call_that_runs_alone_is_beyond_attack(
    programs: Programs, tmp_path: Path, without: tuple[str, ...]
) -> None:
    """Each of these lets somebody beside a call with credentials at it, as seen above; so nobody is."""
    env = {"TOOLCALL_WITHOUT": ",".join(without)}
    recipe = podlike.Recipe(programs.weakened, programs.tool, tmp_path / "pod", env, attacks.EXCLUSIVE)
    async with podlike.running(recipe) as pod:
        await attacks.nobody_is_there(pod)


@KINDS
async def test_the_supervisor_enforces_what_the_kernel_offers(scenes: Scenes, kind: str) -> None:
    offered = kernels_landlock()
    async with scenes(kind, None) as scene:
        said = scene.hello
    if offered < _SCOPES_SINCE:
        assert said.isolation == "Exclusive"
        pytest.skip(f"Linux {platform.release()} offers Landlock ABI {offered}: calls are not isolated from each other")

    assert said.landlock_abi >= _SCOPES_SINCE
    assert said.isolation == "Landlock"


@KINDS
@pytest.mark.parametrize("words", ("own-trace", "own-limits", "rename-across {workspace}"))
async def test_what_ordinary_programs_do_goes_on_working(scenes: Scenes, kind: str, words: str) -> None:
    async with scenes(kind, None) as scene:
        ran = await scene.tries(words)

    assert (ran.result.code, ran.stdout[:9]) == (0, b"succeeded"), ran


async def test_a_file_that_is_not_hidden_can_be_read(programs: Programs, tmp_path: Path) -> None:
    async with embedded.running(programs.supervisor, programs.tool, tmp_path / "sandbox") as box:
        ran = await box.run("open", str(_HIDDEN))

    assert (ran.result.code, ran.stdout[:9]) == (0, b"succeeded"), ran


@KINDS
async def test_without_the_memory_watch_a_call_takes_more_than_its_sandbox_has(scenes: Scenes, kind: str) -> None:
    size = MEMORY + MEMORY // 8
    async with scenes(kind, ("memory-watch",)) as scene:
        unwatched = await scene.tries(f"alloc {size} 1s")
    async with scenes(kind, None) as scene:
        watched = await scene.tries(f"alloc {size} 1s")

    assert (unwatched.result.cause, unwatched.result.code) == (Cause.EXITED, 0)
    assert watched.result.cause is Cause.OUT_OF_MEMORY


@KINDS
async def test_the_kernel_takes_tools_before_the_supervisor(scenes: Scenes, kind: str) -> None:
    async with scenes(kind, ("oom-score",)) as scene:
        unmarked = await scene.tries("open /proc/{victim}/oom_score_adj")
    async with scenes(kind, None) as scene:
        marked = await scene.tries("open /proc/{victim}/oom_score_adj")

    assert b'"1000\\n"' not in unmarked.stdout
    assert b'"1000\\n"' in marked.stdout


@KINDS
async def test_a_tree_dies_also_where_signals_have_no_scope(scenes: Scenes, kind: str) -> None:
    """The slow way of killing is for kernels without scopes; here it is switched on by leaving the quick one out."""
    word = harness.marker()
    async with scenes(kind, ("scoped-kill", "landlock-scopes")) as scene:
        ran = await scene.box.run("family", word, "60s", limits=Limits(timeout=1, grace=0.2))
        left = await scene.box.pids(word)

    assert (ran.result.cause, left) == (Cause.DEADLINE, [])


@KINDS
async def test_arguments_and_shared_files_stay_visible_to_siblings(scenes: Scenes, kind: str) -> None:
    """What the documentation says that isolation does not cover."""
    async with scenes(kind, None) as scene:
        word = harness.marker()
        async with scene.box.sandbox.start(scene.box.call("member", word, "60s", "stay", limits=Limits(grace=0))):
            seen: list[int] = []
            while not seen:
                seen = await scene.box.pids(word)
        await scene.box.run("fill", f"{scene.box.workspace}/shared", "8")
        shared = await scene.tries("open {workspace}/shared")

    assert shared.result.code == 0


@pytest.mark.parametrize(
    ("without", "let_in"),
    (
        pytest.param(("landlock-scopes", "peercheck"), True, id="without both measures"),
        pytest.param(("peercheck",), False, id="against landlock-scopes alone"),
        pytest.param(("landlock-scopes",), False, id="against peercheck alone"),
        pytest.param(None, False, id="against both"),
    ),
)
async def test_a_tool_that_knows_the_key_is_no_operator(
    scenes: Scenes, without: tuple[str, ...] | None, *, let_in: bool
) -> None:
    async with scenes(POD, without) as scene:
        ran = await harness.run(scene.box.sandbox, attacks.impostor())

    assert (b'"bootID"' in ran.stdout) == let_in
    assert ran.result.cause is Cause.EXITED
