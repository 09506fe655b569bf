"""What a call asks for, as references; or what speaks against it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from toolcall_operator.api.agentidentity import AgentCredential, AgentIdentity
from toolcall_operator.api.credentials import Credential, CredentialSource, IdentityRef
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import envnames, identities
from toolcall_operator.core import target as targets
from toolcall_operator.core.credentials.references import EARLY, Kind, Reference, Source
from toolcall_operator.core.credentials.secrets import PASSTHROUGH
from toolcall_operator.core.outcomes import Refused, Wait
from toolcall_operator.core.reasons import Reason, Waiting
from toolcall_operator.core.world import World

Objection = Refused | Wait

_HTTPS = "https://"
_OF_A_TYPE = (
    ("scopes", Kind.FEDERATED),
    ("resource", Kind.FEDERATED),
    ("resource_server_url", Kind.FEDERATED),
    ("repositories", Kind.GITHUB_APP),
    ("permissions", Kind.GITHUB_APP),
)


def references(call: ToolCall, world: World) -> tuple[Reference, ...] | Objection:
    """The credentials that a call asks for, in its order, or the first objection."""
    if objection := next(objections(call, world), None):
        return objection
    found = []
    for path, each in _each(call):
        source = _source(each, world)
        if source is None:  # that the session is not there is objected to elsewhere
            words = f"is of an AgentIdentity of SpiceboxSession {call.spec.session}, which is not there"
            return _refused(Reason.CREDENTIAL_UNRESOLVED, f"{path}.identity", words)
        found.append(_reference(path, each, source))
    return tuple(found)


def objections(call: ToolCall, world: World) -> Iterator[Objection]:
    """Everything that speaks against giving the call what it asks for.

    What the session's AgentIdentity lacks is asked for anew before a call is refused for it: memory may be behind.
    Where the session is not there, nothing is said of its identity.
    """
    for path, each in _each(call):
        yield from _place(path, each, call, world)
        if each.source:
            yield from _forbidden(f"{path}.source", each.source, call)
            yield from _fitting(f"{path}.source", each.source)
        elif each.identity and world.session:
            yield from _unnamed(f"{path}.identity", each.identity, call, world)
    yield from _conflicts(call)


def _each(call: ToolCall) -> Iterator[tuple[str, Credential]]:
    return ((f"spec.credentials[{index}]", each) for index, each in enumerate(call.spec.credentials))


def _reference(path: str, asked: Credential, source: Source) -> Reference:
    if asked.inject.header:
        return Reference(path, source, header=asked.inject.header.name, value_prefix=asked.inject.header.value_prefix)
    return Reference(path, source, env_var=asked.inject.env_var or "")


# Where it goes --------------------------------------------------------------------------------------------------------
def _place(path: str, asked: Credential, call: ToolCall, world: World) -> Iterator[Refused]:
    """Whether it can be put where the call wants it."""
    target, name = targets.found(call, world), asked.inject.env_var
    if asked.inject.header and target and target.tool.command is not None:
        words = f"cannot be given to {call.spec.tool}, which is a program; a program is given inject.envVar"
        yield _refused(Reason.UNSUPPORTED_FOR_TOOL, f"{path}.inject.header", words)
    if name is not None and not envnames.is_env_name(name):
        words = "is a name that no process can be given: at most 256 letters, digits and _, no digit first"
        yield _refused(Reason.ENV_NAME_INVALID, f"{path}.inject.envVar", words)
    elif name and name in call.spec.env:
        words = f"is {name}, which spec.env sets as well: a credential is set by nobody else"
        yield _refused(Reason.ENV_SHADOWS_AGENT, f"{path}.inject.envVar", words)


def _conflicts(call: ToolCall) -> Iterator[Refused]:
    """Whether two go to one place; names of headers are the same in upper and lower case."""
    taken: dict[tuple[str, str], str] = {}
    for path, asked in _each(call):
        header, name = asked.inject.header, asked.inject.env_var
        place = ("header", header.name.lower()) if header else ("envVar", name or "")
        if place in taken:
            words = f"is filled by {taken[place]} already"
            yield _refused(Reason.CREDENTIAL_CONFLICT, f"{path}.inject.{place[0]}", words)
        taken.setdefault(place, path)


# Where it comes from --------------------------------------------------------------------------------------------------
def _source(asked: Credential, world: World) -> Source | None:
    """Where a credential comes from, whether the call names that or an identity does."""
    if asked.source:
        return _own(asked.source)
    found = _under(asked.identity.credential, world) if asked.identity and world.session else None
    return _of_identity(found, world.identity) if found and world.identity else None


def _own(source: CredentialSource) -> Source:
    """The source that a call names itself."""
    kind = Kind(source.type)
    return Source(
        kind=kind,
        namespace=source.namespace,
        secret=source.name,
        key=source.key or "" if kind is Kind.STATIC else "",
        resource=source.resource or "",
        resource_server_url=source.resource_server_url or "",
        scopes=source.scopes,
        repositories=source.repositories,
        permissions=tuple(sorted(source.permissions.items())),
    )


def _forbidden(path: str, source: CredentialSource, call: ToolCall) -> Iterator[Refused]:
    """Whether the Secret is for others, as its name tells; the rest is seen when it is read."""
    if source.namespace != call.metadata.namespace:
        words = f"is {source.namespace}: a call is given Secrets of its own namespace, {call.metadata.namespace}"
        yield _refused(Reason.CREDENTIAL_SOURCE_FORBIDDEN, f"{path}.namespace", words)
    if source.name.endswith(PASSTHROUGH) and source.name != f"{call.spec.session}{PASSTHROUGH}":
        words = f"is {source.name}, which is for the calls of another session only"
        yield _refused(Reason.CREDENTIAL_SOURCE_FORBIDDEN, f"{path}.name", words)


def _fitting(path: str, source: CredentialSource) -> Iterator[Refused]:
    """Whether a source has what its type needs, and nothing that another type would heed."""
    actual = Kind(source.type)
    if actual is Kind.STATIC and not source.key:
        yield _refused(
            Reason.CREDENTIAL_INVALID, f"{path}.key", "is missing: a static credential is one key of a Secret"
        )
    for name, kind in _OF_A_TYPE:
        if actual is not kind and getattr(source, name):
            words = f"is for {kind} credentials only, and this one is {actual}"
            yield _refused(Reason.CREDENTIAL_INVALID, f"{path}.{_spelled(name)}", words)
    if actual is Kind.FEDERATED:
        yield from _federated(path, source)


def _federated(path: str, source: CredentialSource) -> Iterator[Refused]:
    for name in ("resource", "resource_server_url"):
        value = getattr(source, name)
        if not value:
            yield _refused(
                Reason.CREDENTIAL_INVALID, f"{path}.{_spelled(name)}", "is missing: a federated one needs it"
            )
    if source.resource_server_url and not source.resource_server_url.startswith(_HTTPS):
        yield _refused(Reason.CREDENTIAL_INVALID, f"{path}.resourceServerURL", "must begin with https://")


def _spelled(name: str) -> str:
    alias = CredentialSource.model_fields[name].alias
    return alias or name


def _unnamed(path: str, asked: IdentityRef, call: ToolCall, world: World) -> Iterator[Objection]:
    """Why the session's AgentIdentity has nothing for the call under a name, if that is so."""
    agent, target = identities.named_by(world.session) if world.session else "", targets.found(call, world)
    found = _under(asked.credential, world)
    if asked.name != agent:
        has = f"has AgentIdentity {agent}" if agent else "has no AgentIdentity"
        words = f"is {asked.name}, and SpiceboxSession {call.spec.session} {has}"
        yield _refused(Reason.CREDENTIAL_SOURCE_FORBIDDEN, f"{path}.name", words)
    elif world.identity is None:
        words = f"is {asked.name}, and no such AgentIdentity can be read"
        yield _lacking(_refused(Reason.CREDENTIAL_UNRESOLVED, f"{path}.name", words), world)
    elif found is None:
        words = f"is {asked.credential}, which AgentIdentity {asked.name} does not have"
        yield _lacking(_refused(Reason.CREDENTIAL_UNRESOLVED, f"{path}.credential", words), world)
    elif found.allowed_hosts and target and target.tool.command is not None:
        words = f"is {asked.credential}, which has allowedHosts: nothing keeps a program to them"
        yield _refused(Reason.UNSUPPORTED_FOR_TOOL, f"{path}.credential", words)


def _under(name: str, world: World) -> AgentCredential | None:
    """The credential that the session's AgentIdentity has under a name."""
    credentials = world.identity.spec.credentials if world.identity else ()
    return next((each for each in credentials if each.name == name), None)


def _lacking(refused: Refused, world: World) -> Objection:
    """The refusal, where nothing is remembered; else a wait that is over at once, but for a look."""
    return refused if world.on_demand else Wait(Waiting.SESSION, timedelta(), refused)


def _of_identity(credential: AgentCredential, identity: AgentIdentity) -> Source:
    namespace, threshold = identity.metadata.namespace, identity.spec.refresh_threshold
    early = EARLY if threshold is None else threshold
    if credential.static:
        ref = credential.static.secret_ref
        return Source(Kind.STATIC, namespace, ref.name, ref.key)
    if credential.oauth:
        return Source(Kind.OAUTH, namespace, credential.oauth.secret_ref.name, early=early)
    if credential.github_app:
        app = credential.github_app
        permissions = tuple(sorted(app.permissions.items()))
        return Source(
            Kind.GITHUB_APP,
            namespace,
            app.secret_ref.name,
            repositories=app.repositories,
            permissions=permissions,
            early=early,
        )
    raise LookupError("a credential has the block of its type")  # its model sees to that


def _refused(reason: Reason, path: str, words: str) -> Refused:
    return Refused(reason, f"{path} {words}", path)
