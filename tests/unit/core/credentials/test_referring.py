"""What a call asks for, as references; and what speaks against it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.core import examples
from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSessionStatus
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core.credentials import referring
from toolcall_operator.core.credentials.references import EARLY, Kind, Reference, Source
from toolcall_operator.core.outcomes import Refused, Wait
from toolcall_operator.core.reasons import Reason, Waiting
from toolcall_operator.core.world import World

Asked = Mapping[str, Any]

PATH = "spec.credentials[0]"
VARIABLE = {"envVar": "GH_TOKEN"}
HEADER = {"header": {"name": "Authorization", "valuePrefix": "Bearer "}}
RESOURCE: dict[str, Any] = {"resource": "https://mail.example", "resourceServerURL": "https://mail.example/"}


def own(kind: str = "static", inject: Asked = VARIABLE, **source: Any) -> Asked:  # noqa: ANN401 (fields of a source)
    """A credential whose source the call names itself."""
    given = {"type": kind, "namespace": "default", "name": "github", **source}
    return {"inject": inject, "source": {"key": "token", **given} if kind == "static" else given}


def named(credential: str = "forge", agent: str = "bot", inject: Asked = VARIABLE) -> Asked:
    """A credential of an AgentIdentity."""
    return {"inject": inject, "identity": {"name": agent, "credential": credential}}


def calling(*credentials: Asked, **spec: Any) -> ToolCall:  # noqa: ANN401 (fields of a manifest)
    return examples.call(credentials=list(credentials), **spec)


def references(*credentials: Asked, world: World | None = None, **spec: Any) -> tuple[Reference, ...]:  # noqa: ANN401 (likewise)
    found = referring.references(calling(*credentials, **spec), world or examples.world())
    assert isinstance(found, tuple), found
    return found


def source(*credentials: Asked, world: World | None = None) -> Source:
    (found,) = references(*credentials, world=world)
    return found.source


def objections(*credentials: Asked, world: World | None = None, **spec: Any) -> list[Refused]:  # noqa: ANN401 (likewise)
    """Everything that speaks against the call; the first of it is what becomes of the call."""
    call, around = calling(*credentials, **spec), world or examples.world()
    found = list(referring.objections(call, around))
    assert referring.references(call, around) == found[0]
    refused = [each for each in found if isinstance(each, Refused)]
    assert all(len(each.message) <= 1024 and each.message.startswith(each.path) for each in refused)
    return refused


def told(*credentials: Asked, world: World | None = None, **spec: Any) -> list[tuple[Reason, str]]:  # noqa: ANN401 (likewise)
    return [(each.reason, each.path) for each in objections(*credentials, world=world, **spec)]


# What a call names itself ---------------------------------------------------------------------------------------------
def test_a_call_that_asks_for_nothing_is_given_nothing() -> None:
    assert references() == ()


def test_a_static_credential_is_one_key_of_a_secret() -> None:
    assert references(own()) == (
        Reference(PATH, Source(Kind.STATIC, "default", "github", "token"), env_var="GH_TOKEN"),
    )


def test_a_federated_credential_is_for_a_resource() -> None:
    asked = own("federated", **RESOURCE, scopes=["mail", "files"])

    assert source(asked) == Source(
        Kind.FEDERATED,
        "default",
        "github",
        resource="https://mail.example",
        resource_server_url="https://mail.example/",
        scopes=("mail", "files"),
    )


def test_a_token_of_an_app_is_narrowed_and_the_order_of_its_permissions_means_nothing() -> None:
    permissions = {"issues": "write", "contents": "read"}

    found = source(own("githubApp", repositories=["docs", "site"], permissions=permissions))

    assert found.repositories == ("docs", "site")
    assert found.permissions == (("contents", "read"), ("issues", "write"))


@pytest.mark.parametrize("kind", ("oauth", "githubApp"))
def test_a_key_that_no_type_but_static_has_makes_no_difference(kind: str) -> None:
    assert source(own(kind, key="token")) == source(own(kind)) == Source(Kind(kind), "default", "github")


def test_references_come_in_the_order_of_the_call() -> None:
    found = references(own(), own("oauth", {"envVar": "MAIL"}, name="mail"), own(inject={"envVar": "A"}))

    assert [(each.path, each.env_var) for each in found] == [
        ("spec.credentials[0]", "GH_TOKEN"),
        ("spec.credentials[1]", "MAIL"),
        ("spec.credentials[2]", "A"),
    ]


def without_a_program() -> World:
    """A world whose tool is a server, to which credentials go in headers."""
    of_class = examples.session_class({"command": None, "defaultArgs": [], "http": {"url": "https://mail.example"}})
    return World(examples.session(), of_class)


def test_a_header_has_its_prefix() -> None:
    found = references(own("oauth", HEADER), world=without_a_program())

    assert found == (
        Reference(PATH, Source(Kind.OAUTH, "default", "github"), header="Authorization", value_prefix="Bearer "),
    )


# What speaks against a source -----------------------------------------------------------------------------------------
FORBIDDEN, INVALID = Reason.CREDENTIAL_SOURCE_FORBIDDEN, Reason.CREDENTIAL_INVALID
AGAINST_SOURCES: dict[str, tuple[Asked, Reason, str, str]] = {
    "another namespace": (
        own(namespace="elsewhere"),
        FORBIDDEN,
        "namespace",
        "is elsewhere: a call is given Secrets of its own namespace, default",
    ),
    "what is passed through to another session": (
        own(name="other-passthrough-creds"),
        FORBIDDEN,
        "name",
        "is other-passthrough-creds, which is for the calls of another session only",
    ),
    "no key": (own(key=None), INVALID, "key", "is missing: a static credential is one key of a Secret"),
    "scopes without need": (
        own(scopes=["mail"]),
        INVALID,
        "scopes",
        "is for federated credentials only, and this one is static",
    ),
    "a resource without need": (
        own("oauth", resource="https://mail.example"),
        INVALID,
        "resource",
        "is for federated credentials only, and this one is oauth",
    ),
    "a resource's server without need": (
        own("githubApp", resourceServerURL="https://mail.example"),
        INVALID,
        "resourceServerURL",
        "is for federated credentials only, and this one is githubApp",
    ),
    "repositories without need": (
        own("oauth", repositories=["docs"]),
        INVALID,
        "repositories",
        "is for githubApp credentials only, and this one is oauth",
    ),
    "permissions without need": (
        own("federated", **RESOURCE, permissions={"contents": "read"}),
        INVALID,
        "permissions",
        "is for githubApp credentials only, and this one is federated",
    ),
    "no resource": (
        own("federated", resourceServerURL="https://mail.example"),
        INVALID,
        "resource",
        "is missing: a federated one needs it",
    ),
    "an empty resource": (
        own("federated", resource="", resourceServerURL="https://mail.example"),
        INVALID,
        "resource",
        "is missing: a federated one needs it",
    ),
    "no server of the resource": (
        own("federated", resource="https://mail.example"),
        INVALID,
        "resourceServerURL",
        "is missing: a federated one needs it",
    ),
    "a server that anybody can listen to": (
        own("federated", resource="https://mail.example", resourceServerURL="http://mail.example"),
        INVALID,
        "resourceServerURL",
        "must begin with https://",
    ),
}


@pytest.mark.parametrize(("asked", "reason", "field", "words"), AGAINST_SOURCES.values(), ids=AGAINST_SOURCES.keys())
def test_a_source_that_cannot_be_is_refused_naming_the_field(
    asked: Asked, reason: Reason, field: str, words: str
) -> None:
    path = f"{PATH}.source.{field}"

    assert objections(asked) == [Refused(reason, f"{path} {words}", path)]


def test_the_secret_that_is_passed_through_to_the_calls_own_session_is_for_it() -> None:
    assert source(own(name="work-passthrough-creds")).secret == "work-passthrough-creds"


def test_everything_that_speaks_against_a_call_is_told() -> None:
    found = told(
        own(namespace="elsewhere", name="other-passthrough-creds", key=None),
        own("federated", {"envVar": "A"}, repositories=["docs"]),
        own("oauth", {"envVar": "A"}),
        env={"GH_TOKEN": "mine"},
    )

    assert found == [
        (Reason.ENV_SHADOWS_AGENT, "spec.credentials[0].inject.envVar"),
        (FORBIDDEN, "spec.credentials[0].source.namespace"),
        (FORBIDDEN, "spec.credentials[0].source.name"),
        (INVALID, "spec.credentials[0].source.key"),
        (INVALID, "spec.credentials[1].source.repositories"),
        (INVALID, "spec.credentials[1].source.resource"),
        (INVALID, "spec.credentials[1].source.resourceServerURL"),
        (Reason.CREDENTIAL_CONFLICT, "spec.credentials[2].inject.envVar"),
    ]


# Where it goes --------------------------------------------------------------------------------------------------------
def test_a_variable_that_the_call_sets_itself_is_refused_without_its_value() -> None:
    (found,) = objections(own(), env={"GH_TOKEN": "hunter2-hunter2"})

    path = f"{PATH}.inject.envVar"
    assert found == Refused(
        Reason.ENV_SHADOWS_AGENT,
        f"{path} is GH_TOKEN, which spec.env sets as well: a credential is set by nobody else",
        path,
    )
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize("name", ("", "A-B", "9A", "A B", "A=B", "Ä", "A" * 257, "A\n"))
def test_a_variable_that_no_process_can_have_is_refused(name: str) -> None:
    (found,) = objections(own(inject={"envVar": name}))

    assert (found.reason, found.path) == (Reason.ENV_NAME_INVALID, f"{PATH}.inject.envVar")
    assert "at most 256 letters, digits and _, no digit first" in found.message


def test_a_program_is_given_no_headers() -> None:
    (found,) = objections(own("oauth", HEADER))

    path = f"{PATH}.inject.header"
    assert found == Refused(
        Reason.UNSUPPORTED_FOR_TOOL,
        f"{path} cannot be given to echo, which is a program; a program is given inject.envVar",
        path,
    )


def test_two_credentials_for_one_variable_are_refused() -> None:
    (found,) = objections(own(), own("oauth", {"envVar": "MAIL"}), own("oauth"))

    path = "spec.credentials[2].inject.envVar"
    assert found == Refused(Reason.CREDENTIAL_CONFLICT, f"{path} is filled by spec.credentials[0] already", path)


def test_each_that_comes_too_late_is_told_which_was_the_first() -> None:
    second, third = objections(own(), own("oauth"), own("githubApp"))

    assert (second.path, third.path) == ("spec.credentials[1].inject.envVar", "spec.credentials[2].inject.envVar")
    assert second.message.endswith("is filled by spec.credentials[0] already")
    assert third.message.endswith("is filled by spec.credentials[0] already")


def test_variables_differ_in_upper_and_lower_case_and_headers_do_not() -> None:
    header = {"header": {"name": "AUTHORIZATION"}}

    assert len(references(own(inject={"envVar": "A"}), own(inject={"envVar": "a"}))) == 2
    assert told(own("oauth", HEADER), own("oauth", header), world=without_a_program()) == [
        (Reason.CREDENTIAL_CONFLICT, "spec.credentials[1].inject.header")
    ]


def test_a_variable_and_a_header_of_one_name_are_two_places() -> None:
    header = {"header": {"name": "GH_TOKEN"}}

    assert len(references(own(), own("oauth", header), world=without_a_program())) == 2


# What an AgentIdentity names ------------------------------------------------------------------------------------------
FORGE = {"name": "forge", "type": "static", "static": {"secretRef": {"name": "forge", "key": "token"}}}
MAIL = {"name": "mail", "type": "oauth", "oauth": {"secretRef": {"name": "mail"}}}
APP = {
    "name": "app",
    "type": "githubApp",
    "githubApp": {
        "secretRef": {"name": "app"},
        "repositories": ["docs"],
        "permissions": {"issues": "write", "contents": "read"},
    },
}
BOUND = {**FORGE, "name": "bound", "allowedHosts": ["forge.example"]}


def identity(**spec: Any) -> AgentIdentity:  # noqa: ANN401 (fields of a manifest)
    """The AgentIdentity `bot`, which has a credential of each type."""
    full = {"credentials": [FORGE, MAIL, APP, BOUND], **spec}
    return AgentIdentity.model_validate({"metadata": {"name": "bot", "uid": "uid-of-bot"}, "spec": full})


def agents(
    found: AgentIdentity | None = None,
    agent: str | None = "bot",
    *,
    resolved: str | None = None,
    on_demand: bool = True,
) -> World:
    """A world whose session's spec names an agent, and its status another one, or none if that is empty."""
    session = examples.session(**({"agent": agent} if agent else {}))
    if resolved is not None:
        status = SpiceboxSessionStatus(resolved_agent=resolved or None)
        session = session.model_copy(update={"status": status})
    return World(session, examples.session_class(), identity=found, on_demand=on_demand)


@pytest.mark.parametrize(
    ("credential", "expected"),
    (
        ("forge", Source(Kind.STATIC, "default", "forge", "token")),
        ("mail", Source(Kind.OAUTH, "default", "mail")),
        (
            "app",
            Source(
                Kind.GITHUB_APP,
                "default",
                "app",
                repositories=("docs",),
                permissions=(("contents", "read"), ("issues", "write")),
            ),
        ),
    ),
)
def test_an_identity_says_where_a_credential_is_kept(credential: str, expected: Source) -> None:
    assert source(named(credential), world=agents(identity())) == expected


def test_a_credential_by_name_and_one_by_its_source_are_the_same_if_they_are_kept_in_one_place() -> None:
    by_name, by_source = named("mail"), own("oauth", name="mail")

    assert source(by_name, world=agents(identity())) == source(by_source)


@pytest.mark.parametrize(
    ("threshold", "early"),
    (({}, EARLY), ({"refreshThreshold": "5m"}, timedelta(minutes=5)), ({"refreshThreshold": "0s"}, timedelta())),
    ids=("the operator says", "the identity says", "not at all, the identity says"),
)
@pytest.mark.parametrize("credential", ("mail", "app"))
def test_how_early_a_token_is_renewed_says_its_identity(
    threshold: dict[str, str], early: timedelta, credential: str
) -> None:
    assert source(named(credential), world=agents(identity(**threshold))).early == early


@pytest.mark.parametrize(
    ("world", "agent"),
    (
        (agents(identity(), "bot"), "bot"),
        (agents(identity(), "other", resolved="bot"), "bot"),
        (agents(identity(), None, resolved="bot"), "bot"),
        (agents(identity(), "bot", resolved=""), "bot"),
    ),
    ids=("of its spec", "of its status before that of its spec", "of its status alone", "of its spec if there is none"),
)
def test_the_agent_of_a_session_is_the_one_that_was_found_for_it(world: World, agent: str) -> None:
    assert source(named(agent=agent), world=world).secret == "forge"


@pytest.mark.parametrize(
    ("world", "words"),
    (
        (agents(identity(), "other"), "has AgentIdentity other"),
        (agents(identity(), "bot", resolved="other"), "has AgentIdentity other"),
        (agents(identity(), None), "has no AgentIdentity"),
        (agents(None, "other", on_demand=False), "has AgentIdentity other"),
    ),
    ids=("its spec names another", "its status names another", "none", "another, which is not there"),
)
def test_credentials_of_an_identity_that_is_not_the_sessions_are_refused_at_once(world: World, words: str) -> None:
    path = f"{PATH}.identity.name"

    assert objections(named(), world=world) == [
        Refused(FORBIDDEN, f"{path} is bot, and SpiceboxSession work {words}", path)
    ]


def test_of_a_session_that_is_not_there_it_is_not_said_which_identity_it_has() -> None:
    nowhere, call = World(None, None, identity=identity()), calling(named(), own(inject={"envVar": "A"}))

    assert list(referring.objections(call, nowhere)) == []
    assert referring.references(call, nowhere) == Refused(
        Reason.CREDENTIAL_UNRESOLVED,
        f"{PATH}.identity is of an AgentIdentity of SpiceboxSession work, which is not there",
        f"{PATH}.identity",
    )


MISSING: dict[str, tuple[Asked, AgentIdentity | None, str, str]] = {
    "the identity": (named(), None, "name", "is bot, and no such AgentIdentity can be read"),
    "the credential": (
        named("wiki"),
        identity(),
        "credential",
        "is wiki, which AgentIdentity bot does not have",
    ),
}


@pytest.mark.parametrize(("asked", "found", "field", "words"), MISSING.values(), ids=MISSING.keys())
def test_what_an_identity_lacks_is_looked_for_once_more_where_memory_may_be_behind(
    asked: Asked, found: AgentIdentity | None, field: str, words: str
) -> None:
    path = f"{PATH}.identity.{field}"
    refused = Refused(Reason.CREDENTIAL_UNRESOLVED, f"{path} {words}", path)

    assert objections(asked, world=agents(found)) == [refused]
    assert referring.references(calling(asked), agents(found, on_demand=False)) == Wait(
        Waiting.SESSION, timedelta(), refused
    )


def test_a_credential_for_some_hosts_only_is_given_to_no_program() -> None:
    path = f"{PATH}.identity.credential"

    assert objections(named("bound"), world=agents(identity())) == [
        Refused(
            Reason.UNSUPPORTED_FOR_TOOL,
            f"{path} is bound, which has allowedHosts: nothing keeps a program to them",
            path,
        )
    ]


def of_a_server(found: SpiceboxClass | None) -> World:
    return World(examples.session(agent="bot"), found, identity=identity())


@pytest.mark.parametrize("world", (of_a_server(without_a_program().session_class), of_a_server(None)))
def test_one_that_goes_to_no_program_may_be_for_some_hosts_only(world: World) -> None:
    assert source(named("bound"), world=world).secret == "forge"
