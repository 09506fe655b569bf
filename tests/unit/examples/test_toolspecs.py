"""What the toolspecs of the examples allow, and which rule refuses the rest."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.unit.examples import library
from tests.unit.examples.library import Setting

DESTRUCTIVE = "deny.effects.destructive"
PATHS = "allow.filesystem.pathsUnder"

ALLOWED: Mapping[str, tuple[str, ...]] = {
    "cat-workspace": ("a.txt b.txt", "-n /workspace/a.txt", "sub/./a.txt", "-- -n", ""),
    "ls-workspace": ("", "-la", "-R src", "/workspace"),
    "grep-workspace": ("-rn foo", "-E 'a|b' src/x.py", "-i /etc/passwd notes.txt", "-rn --include=*.py -A3 foo ."),
    "jq-workspace": (
        ".",
        "-r '.spec.containers[].env[].name' pod.json",
        "--arg name x '.[$name]' a.json",
        "'.environment | .envelope' a.json",
        "--slurpfile other b.json '. + $other[0]' a.json",
    ),
    "git-read-only": (
        "status -sb",
        "-C sub status --porcelain=v2",
        "log --oneline -n 20 main..feature/x -- src",
        "log -1 --format=%H",
        "-C /workspace/repo diff HEAD~3 --stat",
        "diff --cached -- a.py",
        "show HEAD:README.md",
        "-C repo branch -avv",
        "blame -L10,20 src/a.py",
        "grep -n TODO -- src",
        "rev-parse --show-toplevel",
        "stash list",
        "version",
    ),
    "git-listed-repositories": (
        "clone https://github.com/acme/site",
        "clone --depth 1 https://github.com/acme/site.git sub/site",
        "clone https://GitHub.com:443/acme/site",
        "-C site commit -am 'Fix the page'",
        "-C site switch -c fix/page",
        "-C site push -u origin fix/page",
        "push",
        "pull --ff-only",
        "fetch origin",
        "fetch https://github.com/acme/site main",
        "restore --staged a.py",
        "fetch origin main feature/x",
        "pull origin main",
        "cherry-pick -x main",
        "revert --no-edit HEAD",
        "merge --continue",
        "describe --tags --always HEAD",
        "stash show -p stash@{0}",
        "stash -u",
        "status",
    ),
    "curl-listed-hosts": (
        "https://api.example.com/v1/items?limit=5&sort=-date",
        "-sSf -o /dev/null -I https://api.example.com",
        "-sS -o items.json -m 10 https://api.example.com/items",
        "-H 'Accept: application/json' https://eu.docs.example.com/",
        "-sw '%{http_code}' https://api.example.com/",
        "-X HEAD https://api.example.com/",
        "-A 'agent/1.0 (reads)' -e https://api.example.com/ -r 0-499 https://api.example.com/",
        "-o .github/x.json -o a.git.json https://api.example.com/a https://api.example.com/b",
    ),
    "python3-scripts": ("-I run.py --level -c", "-IB /workspace/tools/run.py", "-I -W error run.py"),
    "kubectl-get": (
        "get pods -n team-a",
        "-n team-a get pod/web-1 -o yaml",
        "get deployments web api -n team-a -o jsonpath='{.items[*].metadata.name}'",
        "explain pod.spec",
        "get pods web-1.example -n team-a",
        "api-resources -o name",
    ),
    "gh-listed-repositories": (
        "pr view 12 --repo acme/site",
        "pr list -R Acme/Site --json number,title -L 50",
        "run view 5 --log-failed -R acme/site",
        "issue list -R acme/site --label bug --author ada --search 'is:open crash in:title'",
        "release view v1.2 -R acme/site",
        "release view v1.2-rc.1+b2 -R acme/.github",
        "run list -w ci.yml -b fix/page -R acme/site",
        "issue list -R acme/site --label 'good first issue,kind: bug' --milestone 'Version 1.2'",
        "repo view acme/site",
        "version",
    ),
}

REFUSED: Mapping[str, Mapping[str, str]] = {
    "cat-workspace": {
        "/etc/passwd": PATHS,
        "a.txt /proc/self/environ": PATHS,
        "../etc/passwd": PATHS,
        "/workspacex/a": PATHS,
        "~/.netrc": PATHS,
        "-- /etc/passwd": PATHS,
    },
    "ls-workspace": {"/": PATHS, "-R ..": PATHS},
    "grep-workspace": {"-r foo /": PATHS, "foo -- /etc/passwd": PATHS, "-rn foo src ../..": PATHS},
    "jq-workspace": {
        ". /etc/passwd": PATHS,
        "-R --rawfile x /etc/passwd -n '$x'": PATHS,
        "-n '$ENV'": "constraints[0]",
        "-n 'import \"a\" as a; a::x'": "constraints[1]",
    },
    "git-read-only": {
        "commit -m x": "allowSubcommands",
        "fetch": "allowSubcommands",
        "clone https://github.com/acme/site": "allowSubcommands",
        "clean -fd": "allowSubcommands",
        "-C / status": PATHS,
        "-C /etc log": PATHS,
        "diff /etc/passwd /dev/null": PATHS,
        "-C sub/.. status": PATHS,
        "grep root -- /etc/passwd": PATHS,
    },
    "git-listed-repositories": {
        "clone https://github.com/other/site": "constraints[0]",
        "clone https://gitlab.com/acme/site": "constraints[0]",
        "clone http://github.com/acme/site": "constraints[0]",
        "clone git@github.com:acme/site": "constraints[0]",
        "clone https://me@github.com/acme/site": "constraints[0]",
        "clone https://github.com/acme/site/../../other/site": "constraints[0]",
        "clone https://github.com/acme/..%2f..%2fother%2fsite": "constraints[0]",
        "clone origin": "constraints[0]",
        "clone /workspace/site": "constraints[0]",
        "fetch upstream": "constraints[0]",
        "clone https://github.com/acme/site /tmp/site": PATHS,
        "push --force": DESTRUCTIVE,
        "push --force-with-lease origin main": DESTRUCTIVE,
        "push origin +main": DESTRUCTIVE,
        "push origin :main": DESTRUCTIVE,
        "push -d origin main": DESTRUCTIVE,
        "restore a.py": DESTRUCTIVE,
        "restore --staged --worktree a.py": DESTRUCTIVE,
        "reset --hard": "allowSubcommands",
        "switch -C main": "constraints[1]",
        "fetch origin +main": "constraints[2]",
        "pull origin main:other": "constraints[2]",
        "cherry-pick -- --output=x main": "parse",
        "merge --abort": "flags",
        "fetch --prune": "flags",
    },
    "curl-listed-hosts": {
        "https://example.com/": "constraints[2]",
        "https://docs.example.com/": "constraints[2]",
        "https://api.example.com/ https://other.example/": "constraints[2]",
        "http://api.example.com/": "constraints[1]",
        "api.example.com": "constraints[1]",
        "https://api.example.com:8443/": "constraints[1]",
        "https://API.example.com/": "constraints[1]",
        "-s": "constraints[1]",
        "-o /etc/cron.d/x https://api.example.com/": PATHS,
        "-X POST https://api.example.com/": DESTRUCTIVE,
        "--data-raw x https://api.example.com/": DESTRUCTIVE,
        "-d x https://api.example.com/": "flags",
        "-L https://api.example.com/": "flags",
        "-u me:word https://api.example.com/": "flags",
        "-H 'Host: other.example' https://api.example.com/": "constraints[3]",
        "-H @file https://api.example.com/": "constraints[3]",
        "-w @file https://api.example.com/": "constraints[4]",
        "-A 'x\r\nHost: other.example' https://api.example.com/": "constraints[5]",
        "-e '\u00e9' https://api.example.com/": "constraints[5]",
        "-r bytes https://api.example.com/": "constraints[6]",
        "-o site/.git/config https://api.example.com/": "constraints[7]",
    },
    "python3-scripts": {
        "-I -c 'print(1)'": "flags",
        "-I -m http.server": "flags",
        "-I /tmp/run.py": PATHS,
        "-I ../run.py": PATHS,
        "-I -": "constraints[0]",
        "-I": "constraints[0]",
        "run.py": "constraints[1]",
    },
    "kubectl-get": {
        "get secrets -n team-a": "constraints[0]",
        "get pods,secrets -n team-a": "constraints[0]",
        "get pods/web,secrets/x -n team-a": "constraints[0]",
        "get pods secrets/x -n team-a": "constraints[1]",
        "get pods .. -n team-a": "constraints[1]",
        "get pods/.. -n team-a": "constraints[1]",
        "get pods -n kube-system": "constraints[2]",
        "get pods": "constraints[2]",
        "get pods -A -n team-a": "constraints[3]",
        "get pods -n team-a -o go-template-file=x": "constraints[4]",
        "get pods -n team-a --context other": "flags",
        "delete pods web -n team-a": "allowSubcommands",
        "describe pods web -n team-a": "allowSubcommands",
    },
    "gh-listed-repositories": {
        "pr view 12": "constraints[0]",
        "pr view 12 --repo other/site": "constraints[0]",
        "pr view 12 --repo evil.example/acme/site": "constraints[0]",
        "repo view": "constraints[0]",
        "repo view https://evil.example/acme/site": "constraints[0]",
        "pr view 12 --repo https://github.com/acme/site": "constraints[1]",
        "pr list --repo acme/site --search 'repo:other/site'": "constraints[2]",
        "pr list --repo acme/site --search 'crash ORG:other'": "constraints[2]",
        'issue list --repo acme/site --author \'"a" repo:other/site "b"\'': "constraints[3]",
        "release view ../../../../other/site/releases/tags/v1 --repo acme/site": "constraints[4]",
        "release view %2e%2e --repo acme/site": "constraints[4]",
        "run list --workflow %2e%2e/x.yml --repo acme/site": "constraints[4]",
        "issue list --repo acme/site --label 'x\u00a0y'": "constraints[3]",
        "pr view 12 --repo acme/.git/..": "constraints[0]",
        "pr merge 12 --repo acme/site": "allowSubcommands",
        "pr create --repo acme/site --title a --body b": "allowSubcommands",
    },
}

_ALLOWED = [(name, line) for name, lines in ALLOWED.items() for line in lines]
_REFUSED = [(name, line, path) for name, lines in REFUSED.items() for line, path in lines.items()]


def test_every_toolspec_of_the_examples_is_tried() -> None:
    assert {*ALLOWED} == {*REFUSED} == {*library.toolspec_objects()}


@pytest.mark.parametrize("name", library.toolspec_objects())
def test_a_toolspec_is_valid_stands_in_a_file_of_its_name_and_says_what_it_is_for(name: str) -> None:
    toolspec = library.toolspec(name)

    assert (toolspec.name, toolspec.spec.name) == (name, name)
    assert toolspec.spec.intent


@pytest.mark.parametrize(("name", "line"), _ALLOWED, ids=(f"{name} allows: {line}" for name, line in _ALLOWED))
def test_allowed(name: str, line: str) -> None:
    assert library.refused_by(name, line) is None


@pytest.mark.parametrize(
    ("name", "line", "path"), _REFUSED, ids=(f"{name} refuses: {line}" for name, line, _ in _REFUSED)
)
def test_refused(name: str, line: str, path: str) -> None:
    assert library.refused_by(name, line) == path


@pytest.mark.parametrize("name", ALLOWED)
def test_a_call_that_carries_every_default_of_its_toolkit_is_judged_as_one_that_carries_none(name: str) -> None:
    defaults = library.toolspec(name).toolkit.spec.env_defaults

    for line in (*ALLOWED[name], *REFUSED[name]):
        assert library.decided_by(name, line, env=defaults) == library.decided_by(name, line)


def test_standard_input_is_data_to_jq_and_a_program_to_python3() -> None:
    assert library.refused_by("jq-workspace", ".", Setting(stdin=True)) is None
    assert library.refused_by("python3-scripts", "-I run.py", Setting(stdin=True)) == "allow.stdin"


def test_a_curl_without_q_in_front_is_refused() -> None:
    """Unless it comes first of all, curl reads .curlrc: the class puts it there, and the toolspec demands it."""
    first, *_ = library.judged("curl-listed-hosts", "https://api.example.com/").invocation.argv

    assert first == "-q"
    bare = Setting(class_arguments=False)
    assert library.refused_by("curl-listed-hosts", "-s -q https://api.example.com/", bare) == "constraints[0]"


def test_a_session_without_lists_allows_nothing_that_needs_them() -> None:
    for name, line in (
        ("git-listed-repositories", "clone https://github.com/acme/site"),
        ("curl-listed-hosts", "https://api.example.com/"),
        ("kubectl-get", "get pods -n team-a"),
        ("gh-listed-repositories", "pr view 12 --repo acme/site"),
    ):
        assert library.refused_by(name, line, Setting(config={})) is not None


def test_a_header_shows_in_no_reason() -> None:
    judgement = library.judged("curl-listed-hosts", "-H", "X-Key: s3cr3t-value", "https://other.example/")

    assert judgement.denial is not None
    assert "s3cr3t" not in f"{judgement.denial} {judgement.trace} {judgement}"
    assert "s3cr3t" not in judgement.shown("-H X-Key: s3cr3t-value")
