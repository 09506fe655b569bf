"""What a file left by an earlier call could make a program do, and what keeps the toolkits and toolspecs from it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.toolkits.programs import Program, Run
from tests.unit.examples import library

MARK = "told-by-the-environment"

CONFIGURED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "core.fsmonitor": ("{hook}", ("status",)),
    "core.hooksPath": ("{folder}/hooks", ("commit", "-qam", "x")),
    "core.pager": ("{hook}", ("--no-pager", "log")),
    "core.editor": ("{hook}", ("commit", "--amend", "--allow-empty")),
    "core.askPass": ("{hook}", ("ls-remote", "https://127.0.0.1:1/x")),
    "credential.helper": ("!{hook}", ("ls-remote", "https://127.0.0.1:1/x")),
    "gpg.program": ("{hook}", ("log", "--format=%G?")),
    "core.sshCommand": ("{hook}", ("fetch", "ssh://127.0.0.1/x")),
    "core.gitProxy": ("{hook}", ("fetch", "git://127.0.0.1/x")),
    "core.alternateRefsCommand": ("{hook}", ("fetch", "{folder}")),
    "remote.origin.url": ("ext::{hook}", ("fetch", "origin")),
    "remote.origin.vcs": ("ext", ("fetch", "origin")),
    "remote.origin.uploadpack": ("{hook}", ("fetch", "origin")),
    "remote.origin.receivepack": ("{hook}", ("push", "origin", "main")),
    "url.ext::{hook} .insteadOf": ("https://example.com/", ("fetch", "https://example.com/x")),
    "alias.status": ("!{hook}", ("status",)),
    "diff.external": ("{hook}", ("log", "-p")),
    "log.showSignature": ("true", ("log",)),
    "commit.gpgSign": ("true", ("commit", "-qam", "x")),
    "submodule.recurse": ("true", ("fetch", "origin")),
}
"""Settings of a repository that name a program, and the command of git that would run it."""

FILTERS = (
    ".",
    "$ENV",
    "$ ENV",
    "env",
    ".env",
    ".a.env?",
    "..env",
    ". env",
    ".[]?|env",
    "{env}",
    "{env:1}",
    "[.env?]",
    '."env"?',
    '"\\(env)"',
    "$__loc__",
    "$ARGS",
    "builtins|length",
    "input_filename",
    "get_search_list",
    'import "m" as m; m::x',
    'include "m"; x',
    '"m"|modulemeta',
    'getpath(["env"])?',
    "splits",
    "@text",
    "debug",
    "$ENV.TOLD?",
    "env.TOLD?",
    "$__prog_args?",
    "reduce env as $x (0; $x)",
    ". as {$env} ?// $env | $env",
    "def env: 1; $ENV",
    "def f: $ENV; f",
)


@pytest.mark.parametrize("setting", CONFIGURED)
def test_no_setting_of_a_repository_runs_a_program_under_the_defaults_of_the_toolkit(setting: str, run: Run) -> None:
    git, told = run("git"), CONFIGURED[setting]
    trap = _trap(git.folder)
    value, line = told[0].format(hook=trap, folder=git.folder), [word.format(folder=git.folder) for word in told[1]]
    _signed(git)
    git("config", setting.format(hook=trap), value)
    git(*line, **library.toolkit("git").spec.env_defaults)

    assert not (git.folder / "sprung").exists()


@pytest.mark.parametrize(
    "setting", ("core.fsmonitor", "core.hooksPath", "core.editor", "gpg.program", "remote.origin.url")
)
def test_without_the_defaults_it_would(setting: str, run: Run) -> None:
    """The trap works: what keeps it shut are the defaults."""
    git, told = run("git"), CONFIGURED[setting]
    trap = _trap(git.folder)
    _signed(git)
    git("config", setting.format(hook=trap), told[0].format(hook=trap, folder=git.folder))
    git("config", "protocol.ext.allow", "always")
    git(*told[1])

    assert (git.folder / "sprung").exists()


def test_curl_reads_no_file_of_flags_where_q_comes_first(run: Run) -> None:
    curl = run("curl")
    (curl.folder / ".curlrc").write_text(f'output = "{curl.folder}/taken"\n')
    url = f"file://{curl.folder}/a"

    assert curl("-q", "-s", url).out == "1\n"
    assert not (curl.folder / "taken").exists()
    curl("-s", "-q", url)
    assert (curl.folder / "taken").exists()


def test_jq_takes_no_definitions_from_a_home_under_the_defaults_of_the_toolkit(run: Run) -> None:
    jq = run("jq")
    (jq.folder / ".jq").write_text("def length: env.TOLD;")

    assert jq("-n", "[]|length", TOLD=MARK).out == f'"{MARK}"\n'
    assert jq("-n", "[]|length", TOLD=MARK, **library.toolkit("jq").spec.env_defaults).out == "0\n"


@pytest.mark.parametrize("words", FILTERS)
def test_no_filter_that_the_toolspec_allows_tells_the_environment(words: str, run: Run) -> None:
    jq = run("jq")
    (jq.folder / "m.jq").write_text("def x: env;")
    (jq.folder / "a").write_text('{"env": 1, "a": {"env": 2}}')
    line = ("-c", words, "a")
    refused = library.refused_by("jq-workspace", shlex.join(line))

    assert refused or MARK not in jq(*line, TOLD=MARK).said


@pytest.mark.parametrize("words", (".env", ".a.env", "[.a|.env]", ".environment", '{"a": .env}'))
def test_keys_of_that_name_can_be_read(words: str, run: Run) -> None:
    jq = run("jq")
    (jq.folder / "a").write_text('{"env": 1, "a": {"env": 2}}')

    assert library.refused_by("jq-workspace", shlex.join((words, "a"))) is None
    assert jq(words, "a").code == 0


def test_an_isolated_python3_imports_nothing_from_beside_the_script(run: Run) -> None:
    python3 = run("python3")
    (python3.folder / "json.py").write_text("print('sprung')")
    (python3.folder / "s.py").write_text("import json")

    assert python3("s.py").out == "sprung\n"
    assert python3("-I", "s.py").out == ""
    assert python3("-I", "s.py", PYTHONPATH=str(python3.folder)).out == ""
    assert python3("s.py", **library.toolkit("python3").spec.env_defaults).out == (
        "" if _is_safe(python3) else "sprung\n"
    )


def _trap(folder: Path) -> Path:
    """A program that leaves a trace, also as each hook."""
    trap = folder / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {folder}/sprung\nexit 1\n")
    trap.chmod(0o755)
    (folder / "hooks").mkdir()
    for hook in ("pre-commit", "commit-msg", "post-checkout", "reference-transaction", "post-index-change"):
        (folder / "hooks" / hook).symlink_to(trap)
    return trap


def _signed(git: Program) -> None:
    """A commit that says it is signed, so that somebody may look at that."""
    commit = git("cat-file", "commit", "HEAD").out
    head, _, message = commit.partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    name = git("hash-object", "-t", "commit", "-w", "--stdin", stdin=f"{head}\n{signature}\n\n{message}").out.strip()
    git("reset", "-q", "--soft", name)


def _is_safe(python3: Program) -> bool:
    """Whether it knows PYTHONSAFEPATH, which came with 3.11."""
    return python3("-c", "import sys; print(sys.version_info >= (3, 11))").out == "True\n"
