"""The rules about what a call does to the world."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core.policy.deciding import decisions
from tests.unit.core.policy.deciding.decisions import READER, allowed, denied, judged, toolspec
from toolcall_operator.core.policy.deciding.decision import Outcome


@pytest.mark.parametrize(
    ("effects", "argv", "path"),
    (
        pytest.param({"destructive": True}, ("push",), "deny.effects.destructive", id="destructive"),
        pytest.param({"destructive": True}, ("status",), None, id="not destructive"),
        pytest.param({"reads": ["network"]}, ("fetch",), "deny.effects.reads", id="reads"),
        pytest.param({"reads": ["network"]}, ("status",), None, id="reads something else"),
        pytest.param({"writes": ["network"]}, ("push",), "deny.effects.writes", id="writes"),
        pytest.param({"writes": ["network"]}, ("fetch",), None, id="writes nothing"),
        pytest.param({"creds": {"writes": True}}, ("login",), "deny.effects.creds.writes", id="changes credentials"),
        pytest.param({"creds": {"writes": True}}, ("status",), None, id="changes none"),
    ),
)
def test_an_effect_that_is_denied_is_denied(effects: dict[str, Any], argv: tuple[str, ...], path: str | None) -> None:
    found = judged(toolspec(deny={"effects": effects}), *argv).denial

    assert (found and found.path) == path


def hosts(*names: str, **more: Any) -> Any:  # noqa: ANN401 (a toolspec)
    """A toolspec that allows these hosts."""
    return toolspec(allow={"network": {"destinations": names}}, **more)


def test_a_host_that_is_not_on_the_list_is_denied() -> None:
    found = denied(hosts("github.com"), "clone", "https://evil.com/acme/x")

    assert found.path == "allow.network.destinations"
    assert found.reason == 'destination "evil.com" is not allowed: allow.network.destinations has "github.com"'
    allowed(hosts("github.com"), "clone", "https://github.com/acme/x")


def test_an_empty_list_of_hosts_allows_none() -> None:
    assert denied(hosts(), "clone", "https://github.com/x").path == "allow.network.destinations"
    assert denied(hosts(), "push").path == "allow.network.destinations"
    allowed(hosts(), "status")


@pytest.mark.parametrize("url", ("https://github.com@evil.com/x", "https://github.com\\.evil.com/x", "../x", "x:y"))
def test_a_url_that_may_lead_elsewhere_is_denied(url: str) -> None:
    assert denied(hosts("github.com"), "clone", url).path == "allow.network.destinations"


def test_a_host_out_of_the_environment_is_judged_as_the_process_will_have_it() -> None:
    allowed(hosts("api.example.com"), "call", env={"API_HOST": "api.example.com"})
    assert "evil.com" in denied(hosts("api.example.com"), "call", env={"API_HOST": "evil.com"}).reason


def test_a_host_that_cannot_be_told_is_denied_where_hosts_are_listed() -> None:
    found = denied(hosts("api.example.com"), "call")

    assert found.path == "allow.network.destinations"
    assert found.reason == "what {env:API_HOST} stands for cannot be told"
    allowed(toolspec(), "call")


def test_a_call_that_connects_nobody_knows_where_is_denied_where_hosts_are_listed() -> None:
    found = denied(hosts("github.com"), "fetch")

    assert found.reason == "the call uses the network, and where it connects to cannot be told"


def under(*folders: str, **more: Any) -> Any:  # noqa: ANN401 (a toolspec)
    """A toolspec that allows what is in these folders."""
    return toolspec(allow={"filesystem": {"pathsUnder": folders}}, **more)


@pytest.mark.parametrize(
    ("folders", "argv", "allows"),
    (
        pytest.param(("/workspace",), ("add", "a", "sub/b"), True, id="inside"),
        pytest.param(
            ("/workspace/", "/data"), ("-C", "/data", "add", "./x"), True, id="several folders, spelled freely"
        ),
        pytest.param(("/",), ("add", "/etc/x"), True, id="everything"),
        pytest.param(("/work",), ("add", "/workspace/a"), False, id="only the same letters"),
        pytest.param(("/workspace",), ("add", "a", "/etc/passwd"), False, id="one of several is outside"),
        pytest.param(("/workspace",), ("-C", "/etc", "add", "a"), False, id="below a folder outside"),
        pytest.param(("/workspace",), ("-C", "sub", "add", "/etc/x"), False, id="not below the folder before it"),
        pytest.param(("/workspace",), ("add", "~/x"), False, id="home"),
        pytest.param(("/workspace",), ("add", ""), True, id="nothing but the folder before it"),
        pytest.param((), ("add", "a"), False, id="empty list"),
        pytest.param((), ("login",), True, id="no path at all"),
    ),
)
def test_paths_are_under_the_folders_that_are_listed(
    folders: tuple[str, ...], argv: tuple[str, ...], *, allows: bool
) -> None:
    found = judged(under(*folders), *argv).denial

    assert (found and found.path) == (None if allows else "allow.filesystem.pathsUnder")


def test_a_path_that_leaves_by_dots_is_denied() -> None:
    found = denied(toolspec(READER, allow={"filesystem": {"pathsUnder": ["/work"]}}), "/work/../etc/passwd")

    assert found.path == "allow.filesystem.pathsUnder"
    assert found.reason.startswith('where path "/work/../etc/passwd" leads cannot be told')


def test_files_that_the_toolkit_does_not_name_are_denied_where_folders_are_listed() -> None:
    subcommand = {"path": [], "effects": decisions.does("reads filesystem")}
    policy = toolspec({**READER, "subcommands": [subcommand]}, allow={"filesystem": {"pathsUnder": ["/"]}})

    assert denied(policy).reason == "the call uses the filesystem, and its toolkit does not say which files"


@pytest.mark.parametrize(("listed", "allows"), ((["GIT_TOKEN"], True), (["OTHER"], False), ([], False)))
def test_credentials_are_those_that_are_listed(listed: list[str], *, allows: bool) -> None:
    found = judged(toolspec(allow={"creds": {"required": listed}}), "login").denial

    assert (found and found.path) == (None if allows else "allow.creds.required")


def test_every_effect_is_judged_and_the_first_that_is_denied_is_told() -> None:
    policy = hosts("github.com", deny={"effects": {"destructive": True, "writes": ["network"]}})

    found = judged(policy, "push", "elsewhere")

    assert found.denial is not None
    assert found.denial.path == "deny.effects.destructive"
    assert [(step.path, step.outcome) for step in found.trace if step.outcome is Outcome.DENIED] == [
        ("deny.effects.destructive", Outcome.DENIED),
        ("deny.effects.writes", Outcome.DENIED),
        ("allow.network.destinations", Outcome.DENIED),
    ]
