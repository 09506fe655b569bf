"""What a decision costs, and what it costs to know a thousand toolspecs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.bench.measured import ROOT, Measured
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.core.policy.deciding import decision
from toolcall_operator.core.policy.deciding.decision import Invocation
from toolcall_operator.core.policy.loading.library import Library
from toolcall_operator.core.policy.loading.toolspecs import Toolspec
from toolcall_operator.local import manifests

DECISIONS = 2_000
TOOLSPECS = 1_000
CONSTRAINTS = (
    "call.subcommand in ['log', 'show', 'diff']",
    "!call.hasFlag('output')",
    "call.argv.all(word, !word.startsWith('--upload-pack'))",
    "size(call.argv) < 32",
    "!call.hasFlag('author') || call.flags.author.all(author, author in config.authors)",
    "call.cwd == '/workspace'",
    "!call.hasStdin",
    "!call.hasEnv('GIT_DIR')",
    "!(has(call.positional.paths) && call.positional.paths.exists(each, each.contains('..')))",
    "config.authors.all(author, author.matches('^[a-z]+$'))",
)
(_TOOLKIT_FILE,) = manifests.load([ROOT / "examples" / "toolkits" / "git.yaml"])
TOOLKIT = SpiceboxToolkit.model_validate(_TOOLKIT_FILE.raw)


def measured() -> Iterator[Measured]:
    """Every row."""
    library = Library()
    library.put_toolkit(TOOLKIT)
    library.put_toolspec(_toolspec("one"))
    yield Measured("a decision for git with 10 constraints", _decision(library) * 1e6, "µs", at_most=200)
    yield from _many()


def _decision(library: Library) -> float:
    """The median in seconds: command line, effects, every rule, every constraint."""
    toolspec = library.toolspec("one")
    assert isinstance(toolspec, Toolspec), toolspec
    invocation = Invocation(
        program="git",
        argv=("log", "-n5", "--oneline", "--author=ada", "HEAD", "--", "README.md"),
        env={"GIT_PAGER": "cat"},
        given=frozenset(),
        cwd="/workspace",
        config={"authors": ["ada", "grace"]},
        has_stdin=False,
    )
    denial = decision.judge(toolspec, invocation).denial
    assert denial is None, denial
    return statistics.median(_seconds(lambda: decision.judge(toolspec, invocation)) for _ in range(DECISIONS))


def _many() -> Iterator[Measured]:
    """A thousand toolspecs over one toolkit, with an expression of their own each; then one of them changes."""
    library = Library()
    written = [_toolspec(f"number-{index}", f"size(call.argv) < {index}") for index in range(TOOLSPECS)]

    def load() -> None:
        library.put_toolkit(TOOLKIT)
        for toolspec in written:
            library.put_toolspec(toolspec)
        assert all(isinstance(library.toolspec(toolspec.metadata.name), Toolspec) for toolspec in written)

    yield Measured(f"{TOOLSPECS:,} toolspecs read and compiled", _seconds(load), "s", at_most=2)
    before = library.compiled
    touched = library.put_toolspec(_toolspec("number-7", "size(call.argv) < 7000"))
    assert all(library.toolspec(toolspec.metadata.name) for toolspec in written)
    assert touched == {"number-7"}, touched
    yield Measured("toolspecs compiled again after one was edited", library.compiled - before, "", at_most=1)


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _toolspec(name: str, *more: str) -> SpiceboxToolspec:
    spec: dict[str, Any] = {
        "name": name,
        "version": "1",
        "toolkit": {"name": "git", "revision": TOOLKIT.spec.toolkit_revision},
        "allowSubcommands": ["log", "show", "diff"],
        "allow": {"filesystem": {"pathsUnder": ["/workspace"]}},
        "constraints": [{"cel": source} for source in (*CONSTRAINTS, *more)],
    }
    return SpiceboxToolspec.model_validate({"metadata": {"name": name}, "spec": spec})
