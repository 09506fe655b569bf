"""What the toolkits of the examples accept, how they read it, and what they refuse."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.unit.examples import library
from toolcall_operator.core.policy.commandline.values import CommandLine, ParseProblem, Unparsed, Value

Table = Mapping[str, tuple[str, str, Mapping[str, Value]]]

READ: Table = {
    "cat joins letters": ("cat", "-nE a b", {"number": True, "show-ends": True, "files": ("a", "b")}),
    "cat takes flags behind files": ("cat", "a -n", {"number": True, "files": ("a",)}),
    "cat takes everything behind a double dash for files": ("cat", "-- -n", {"files": ("-n",)}),
    "cat takes a lone dash for a file": ("cat", "-", {"files": ("-",)}),
    "ls joins letters": ("ls", "-la1 x", {"l": True, "all": True, "1": True, "files": ("x",)}),
    "ls lets -F have no value": ("ls", "-Fl", {"F": True, "l": True}),
    "ls lets a color be left out": ("ls", "--color x", {"color": True, "files": ("x",)}),
    "ls attaches values to letters": ("ls", "-lw80", {"l": True, "width": 80}),
    "grep takes the first argument for the pattern": ("grep", "-rn foo src", {"pattern": "foo", "files": ("src",)}),
    "grep attaches numbers to letters": ("grep", "-nA3 foo f", {"after-context": 3, "line-number": True}),
    "grep takes a pattern that begins with a dash": ("grep", "-- -e f", {"pattern": "-e", "files": ("f",)}),
    "grep collects patterns of names": ("grep", "-r --include=*.py --include *.pyi x", {"include": ("*.py", "*.pyi")}),
    "jq joins letters": ("jq", "-rc .a f", {"raw-output": True, "compact-output": True, "filter": ".a"}),
    "jq takes a name and a value for --arg": ("jq", "-n --arg a -n $a", {"arg": ("a", "-n"), "filter": "$a"}),
    "jq takes flags behind files": ("jq", ". f --tab", {"tab": True, "files": ("f",)}),
    "curl joins letters": ("curl", "-sSf https://a/", {"silent": True, "show-error": True, "fail": True}),
    "curl attaches values to letters": ("curl", "-XPOST -m10 https://a/", {"request": "POST", "max-time": 10}),
    "curl collects headers": ("curl", "-H a:b -H c:d https://a/", {"header": ("a:b", "c:d")}),
    "curl takes several URLs": ("curl", "https://a/ https://b/", {"urls": ("https://a/", "https://b/")}),
    "python3 reads no flags behind the script": ("python3", "-I x.py -c y", {"script": "x.py", "args": ("-c", "y")}),
    "python3 leaves a double dash to the script": ("python3", "x.py -- y", {"args": ("--", "y")}),
    "python3 takes the rest of the argument for a program": ("python3", "-Bcpass -I", {"c": "pass", "script": "-I"}),
    "python3 takes a module from the same argument": ("python3", "-mhttp.server", {"m": "http.server"}),
    "git takes -C before the subcommand": ("git", "-C x status -sb", {"C": "x", "short": True, "branch": True}),
    "git takes -C in front of a diff for a folder": ("git", "-C x diff -C", {"C": "x", "find-copies": True}),
    "git log takes flags behind revisions": ("git", "log main --oneline", {"revisions": ("main",), "oneline": True}),
    "git log tells revisions from paths": ("git", "log v1 -- a b", {"revisions": ("v1",), "paths": ("a", "b")}),
    "git log attaches a number": ("git", "log -n5", {"max-count": 5}),
    "git log takes one commit": ("git", "log -1", {"1": True}),
    "git log takes a format only with an equals sign": ("git", "log --format %h", {"revisions": ("%h",)}),
    "git status attaches a mode": ("git", "status -uno", {"untracked-files": "no"}),
    "git commit joins letters": ("git", "commit -am text", {"all": True, "message": ("text",)}),
    "git commit takes -C for a commit": ("git", "commit -C HEAD", {"reuse-message": "HEAD"}),
    "git branch takes a flag twice": ("git", "branch -vv", {"verbose": True}),
    "git grep reads no flags behind the pattern": ("git", "grep -n a -O", {"pattern": "a", "places": ("-O",)}),
    "git stash push takes paths": ("git", "stash push -m why a", {"message": "why", "paths": ("a",)}),
    "git clone takes a folder": ("git", "clone --depth 1 https://a/b c", {"depth": 1, "directory": "c"}),
    "git clone takes a flag behind a double dash for a place": ("git", "clone -- -u c", {"repository": "-u"}),
    "git push lets a lease be left out": ("git", "push --force-with-lease o m", {"force-with-lease": True}),
    "gh takes numbers": ("gh", "pr view 7 -R a/b", {"number": 7, "repo": "a/b"}),
    "gh splits fields": ("gh", "pr list --json a,b", {"json": ("a", "b")}),
    "gh knows subcommands of two words": ("gh", "run view 5 --log-failed", {"run": 5, "log-failed": True}),
    "kubectl takes a namespace before the subcommand": ("kubectl", "-n a get pods", {"namespace": "a", "type": "pods"}),
    "kubectl takes a namespace behind it": ("kubectl", "get pods -na", {"namespace": "a"}),
    "kubectl takes a name behind the kind": ("kubectl", "get pod x y", {"type": "pod", "names": ("x", "y")}),
    "kubectl attaches a format": ("kubectl", "get pods -ojson", {"output": "json"}),
    "kubectl logs takes -f for following": ("kubectl", "logs -f x --tail=-1", {"follow": True, "tail": -1}),
    "kubectl knows subcommands of two words": ("kubectl", "rollout status deploy/x", {"type": "deploy/x"}),
}

UNKNOWN = ParseProblem.UNKNOWN_FLAG
NO_SUBCOMMAND = ParseProblem.UNKNOWN_SUBCOMMAND

REFUSED: Mapping[str, tuple[str, str, ParseProblem]] = {
    "cat does not know an abbreviation": ("cat", "--numb a", UNKNOWN),
    "cat does not know another letter among known ones": ("cat", "-nZ a", UNKNOWN),
    "cat takes no value for a flag that has none": ("cat", "--number=5 a", ParseProblem.FLAG_TYPE_MISMATCH),
    "ls does not know the value of -F": ("ls", "--classify=always", UNKNOWN),
    "ls does not know other orders": ("ls", "--sort=random", ParseProblem.ENUM_VALUE_INVALID),
    "grep has no -e": ("grep", "-e foo /etc/shadow", UNKNOWN),
    "grep has no -e among other letters": ("grep", "-ne foo /etc/shadow", UNKNOWN),
    "grep has no -f": ("grep", "-f /etc/shadow x", UNKNOWN),
    "grep follows no links": ("grep", "-R foo", UNKNOWN),
    "grep takes no number for a flag": ("grep", "-5 foo f", UNKNOWN),
    "grep takes numbers alone for numbers": ("grep", "-A all foo f", ParseProblem.FLAG_TYPE_MISMATCH),
    "grep takes no number behind an equals sign and a letter": ("grep", "-A=3 foo f", ParseProblem.FLAG_TYPE_MISMATCH),
    "jq needs a filter": ("jq", "-n", ParseProblem.ARG_COUNT_MISMATCH),
    "jq has no -f": ("jq", "-f /etc/shadow", UNKNOWN),
    "jq has no -f among other letters": ("jq", "-nf x", UNKNOWN),
    "jq has no -L": ("jq", "-L /x .", UNKNOWN),
    "jq makes no values of files": ("jq", "-n . --args x", UNKNOWN),
    "jq knows no double dash": ("jq", ". -- x", UNKNOWN),
    "jq wants two words for --arg": ("jq", ". --arg a", ParseProblem.MISSING_FLAG_VALUE),
    "curl reads no file of flags": ("curl", "-K x https://a/", UNKNOWN),
    "curl reads no file of flags behind other letters": ("curl", "-sKx https://a/", UNKNOWN),
    "curl sends no other method": ("curl", "-X 'GET /x' https://a/", ParseProblem.ENUM_VALUE_INVALID),
    "curl knows no other protocol": ("curl", "--proto =file https://a/", ParseProblem.ENUM_VALUE_INVALID),
    "curl does not know the opposite of a flag": ("curl", "--no-fail https://a/", UNKNOWN),
    "python3 goes on with nothing": ("python3", "-i x.py", UNKNOWN),
    "python3 imports no category of warnings": ("python3", "-W error::os.X x.py", ParseProblem.ENUM_VALUE_INVALID),
    "git has no -c": ("git", "-c a=b status", NO_SUBCOMMAND),
    "git has no --exec-path": ("git", "--exec-path=/x status", NO_SUBCOMMAND),
    "git has no --git-dir": ("git", "--git-dir /x status", NO_SUBCOMMAND),
    "git has no aliases": ("git", "st", NO_SUBCOMMAND),
    "git writes no config": ("git", "config core.pager x", NO_SUBCOMMAND),
    "git adds no remotes": ("git", "remote add x https://a/", ParseProblem.ARG_COUNT_MISMATCH),
    "git branch makes no branch": ("git", "branch new", ParseProblem.ARG_COUNT_MISMATCH),
    "git branch copies no branch": ("git", "branch -C a b", ParseProblem.ARG_COUNT_MISMATCH),
    "git tag makes no tag": ("git", "tag v1", ParseProblem.ARG_COUNT_MISMATCH),
    "git reflog expires nothing": ("git", "reflog expire --all", ParseProblem.ARG_COUNT_MISMATCH),
    "git blame takes no folder before it, as -C is its own": ("git", "-C x blame a", UNKNOWN),
    "git commit asks nobody": ("git", "commit -p", UNKNOWN),
    "git commit runs no trailers": ("git", "commit --trailer a -m b", UNKNOWN),
    "git merge runs no other strategy": ("git", "merge -s x main", ParseProblem.ENUM_VALUE_INVALID),
    "git log takes no number for a flag": ("git", "log -5", UNKNOWN),
    "git knows no abbreviation": ("git", "log --onelin", UNKNOWN),
    "git describe writes no index": ("git", "describe --dirty", UNKNOWN),
    **{
        f"git {sub} has no double dash, as git drops it": ("git", f"{sub} -- x", ParseProblem.UNKNOWN_FLAG)
        for sub in ("cherry-pick", "revert", "pull", "describe", "stash list", "stash show")
    },
    "git has no stash of another word": ("git", "stash clear", ParseProblem.ARG_COUNT_MISMATCH),
    "gh takes no address for a number": ("gh", "pr view https://a/b/pull/1", ParseProblem.ARGUMENT_TYPE_MISMATCH),
    "gh has no api": ("gh", "api /user", NO_SUBCOMMAND),
    "gh has no extensions": ("gh", "extension install a/b", NO_SUBCOMMAND),
    "gh filters nothing": ("gh", "pr list --jq env", UNKNOWN),
    "gh starts no browser": ("gh", "pr view 1 --web", UNKNOWN),
    "gh takes no value behind an equals sign and a letter": ("gh", "pr list -L=5", ParseProblem.FLAG_TYPE_MISMATCH),
    "kubectl takes no namespace behind an equals sign and a letter": (
        "kubectl",
        "get pods -n=kube-system",
        ParseProblem.FLAG_TYPE_MISMATCH,
    ),
    "kubectl has no exec": ("kubectl", "exec x -- sh", NO_SUBCOMMAND),
    "kubectl has no plugins": ("kubectl", "foo", NO_SUBCOMMAND),
    "kubectl asks for nothing at all": ("kubectl", "get --raw /api", UNKNOWN),
    "kubectl is nobody else": ("kubectl", "get pods --as admin", UNKNOWN),
    "kubectl reads no other kubeconfig": ("kubectl", "--kubeconfig x get pods", NO_SUBCOMMAND),
    "kubectl reads no files": ("kubectl", "get -f https://a/", UNKNOWN),
}


@pytest.mark.parametrize("name", library.toolkit_objects())
def test_a_toolkit_has_no_problems_and_stands_in_a_file_of_its_name(name: str) -> None:
    toolkit = library.toolkit(name)

    assert (toolkit.resource, toolkit.spec.name, toolkit.spec.target.binary) == (name, name, name)


@pytest.mark.parametrize(("tool", "line", "values"), READ.values(), ids=READ)
def test_it_reads(tool: str, line: str, values: Mapping[str, Value]) -> None:
    read = library.read(tool, line)

    assert isinstance(read, CommandLine), read
    found = {**read.flags, **read.positional}
    assert {name: found.get(name) for name in values} == values


@pytest.mark.parametrize(("tool", "line", "problem"), REFUSED.values(), ids=REFUSED)
def test_it_refuses(tool: str, line: str, problem: ParseProblem) -> None:
    read = library.read(tool, line)

    assert isinstance(read, Unparsed), read
    assert read.problem is problem


@pytest.mark.parametrize("name", library.toolkit_objects())
def test_every_subcommand_says_what_it_does(name: str) -> None:
    assert [sub.name for sub in library.toolkit(name).spec.subcommands if not sub.description] == []
