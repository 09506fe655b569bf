"""Toolkits as git, gh and others have them, but small, and what toolspecs over them say of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.unit.core.policy.commandline.commandlines import NOTHING, command, named, slot
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.core.policy.deciding import decision
from toolcall_operator.core.policy.deciding.decision import Denial, Invocation, Judgement, Outcome
from toolcall_operator.core.policy.loading import toolkits, toolspecs
from toolcall_operator.core.policy.loading.toolkits import Toolkit
from toolcall_operator.core.policy.loading.toolspecs import Toolspec


def does(
    *touches: str,
    hosts: tuple[str, ...] = (),
    paths: tuple[str, ...] = (),
    **more: Any,  # noqa: ANN401 (fields of a manifest)
) -> dict[str, Any]:
    """What a subcommand does: `reads network`, `writes filesystem`."""
    return {
        **NOTHING,
        "reads": [each.split()[1] for each in touches if each.startswith("reads")],
        "writes": [each.split()[1] for each in touches if each.startswith("writes")],
        "network": {"destinations": hosts},
        "filesystem": {"paths": paths},
        **more,
    }


def names_repository(template: str, *transforms: str) -> dict[str, Any]:
    """The permission of a subcommand that is about a repository."""
    check = {
        "resourceType": "repository",
        "permission": "read",
        "resourceIDTemplate": template,
        "resourceIDTransforms": transforms,
    }
    return {"stateImpact": "readonly", "check": check}


_IN_FOLDER = "{flag:C|or:.}"
GIT: Mapping[str, Any] = {
    "name": "git",
    "toolkitRevision": "2",
    "version": "2.47.0",
    "target": {"binary": "git", "versionRange": ">=2.40.0 <3.0.0"},
    "parser": {"kind": "declarative"},
    "env": {
        "allowed": [
            {"name": "GIT_TOKEN", "sensitive": True, "credential": "git"},
            {"name": "GIT_AUTHOR_NAME"},
            {"name": "API_HOST"},
        ]
    },
    "globalFlags": [named("-C", "path"), named("-c", "stringList", requiresConstraint=True), named("--help")],
    "subcommands": [
        command("status", named("--short -s"), effects=does("reads filesystem", paths=(_IN_FOLDER,))),
        command(
            "clone",
            named("--depth", "int", minimum=1),
            named("--branch -b", "string"),
            slot("repository", "url", required=True),
            slot("directory", "path"),
            effects=does(
                "reads network",
                "writes filesystem",
                hosts=("{positional:repository|host}",),
                paths=("{positional:directory|or:.}",),
                creds={"required": ["GIT_TOKEN"]},
            ),
            permission=names_repository("{repository}", "normalize_url"),
        ),
        command(
            "add",
            slot("paths", "stringList", required=True),
            effects=does("writes filesystem", paths=(f"{_IN_FOLDER}/{{positional:paths}}",)),
        ),
        command(
            "push",
            named("--force -f"),
            slot("repository"),
            effects=does(
                "reads network", "writes network", hosts=("{positional:repository|or:origin}",), destructive=True
            ),
        ),
        command("fetch", effects=does("reads network")),
        command("call", effects=does("reads network", hosts=("{env:API_HOST}",))),
        command("login", effects=does(creds={"required": ["GIT_TOKEN"], "writes": ["GIT_TOKEN"]})),
    ],
}
GH: Mapping[str, Any] = {
    "name": "gh",
    "toolkitRevision": "1",
    "version": "2.80.0",
    "target": {"binary": "gh"},
    "parser": {"kind": "declarative"},
    "env": {"allowed": []},
    "subcommands": [
        command(
            "pr view",
            named("--repo -R", "string"),
            slot("number", "int"),
            effects=does("reads network", hosts=("github.com",)),
            permission=names_repository("{repo}", "github_repo_url_id"),
        ),
        command("status"),
    ],
}
READER: Mapping[str, Any] = {
    "name": "reader",
    "toolkitRevision": "1",
    "version": "1",
    "target": {"binary": "reader"},
    "parser": {"kind": "declarative"},
    "env": {"allowed": []},
    "globalFlags": [named("--token -t", "string", sensitive=True), named("--pin", "int", sensitive=True)],
    "subcommands": [
        command(
            "",
            named("--limit", "int"),
            slot("files", "stringList"),
            effects=does("reads filesystem", paths=("{positional:files}",)),
        ),
    ],
}
PYTHON: Mapping[str, Any] = {
    "name": "python3",
    "toolkitRevision": "1",
    "version": "3",
    "target": {"binary": "python3"},
    "parser": {"kind": "declarative"},
    "env": {"allowed": []},
    "subcommands": [command("", slot("script", "path"), stdin="Program")],
}


def toolkit(spec: Mapping[str, Any], **changed: Any) -> Toolkit:  # noqa: ANN401 (fields of a manifest)
    """The toolkit of a spec, with other fields."""
    manifest = {"metadata": {"name": f"{spec['name']}-kit"}, "spec": {**spec, **changed}}
    found = toolkits.judged(SpiceboxToolkit.model_validate(manifest))
    assert isinstance(found, Toolkit), found
    return found


def toolspec(
    of: Mapping[str, Any] = GIT,
    *allowed: str,
    name: str = "policy",
    **spec: Any,  # noqa: ANN401 (fields of a manifest)
) -> Toolspec:
    """A toolspec that allows these subcommands, all of them if none is given, with more fields."""
    kit = toolkit(of)
    full = {
        "name": name,
        "version": "1",
        "toolkit": {"name": of["name"], "revision": of["toolkitRevision"]},
        "allowSubcommands": allowed or sorted(kit.subcommands),
        **spec,
    }
    manifest = SpiceboxToolspec.model_validate({"metadata": {"name": name}, "spec": full})
    found = toolspecs.judged(manifest, lambda _ref: kit)
    assert isinstance(found, Toolspec), found
    return found


def invocation(program: str, *argv: str, **more: Any) -> Invocation:  # noqa: ANN401 (fields of an invocation)
    """A process of a program, in /workspace, without an environment of its own."""
    full = {"env": {}, "given": frozenset(), "cwd": "/workspace", "config": {}, "has_stdin": False, **more}
    return Invocation(program=program, argv=argv, **full)


def judged(policy: Toolspec, *argv: str, **more: Any) -> Judgement:  # noqa: ANN401 (fields of an invocation)
    """What a toolspec says of a command line of its own program."""
    return decision.judge(policy, invocation(policy.toolkit.spec.target.binary, *argv, **more))


def allowed(policy: Toolspec, *argv: str, **more: Any) -> Judgement:  # noqa: ANN401 (fields of an invocation)
    """The judgement of a command line that is allowed."""
    found = judged(policy, *argv, **more)
    assert found.denial is None, found.denial
    return found


def denied(policy: Toolspec, *argv: str, **more: Any) -> Denial:  # noqa: ANN401 (fields of an invocation)
    """The denial of a command line that is not allowed."""
    found = judged(policy, *argv, **more)
    assert found.denial is not None
    return found.denial


def outcome(judgement: Judgement, path: str) -> Outcome:
    """What came of a rule."""
    return next(step.outcome for step in judgement.trace if step.path == path)
