"""What can be told of an object that cannot be read: which it is, what its status said, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from toolcall_operator.api.agentidentity import AgentIdentity, AgentIdentitySpec, AgentIdentityStatus
from toolcall_operator.api.base import Model, ObjectMeta
from toolcall_operator.api.sandbox import Resources
from toolcall_operator.api.spiceboxclass import ClassMeta, SpiceboxClass, SpiceboxClassSpec, SpiceboxClassStatus
from toolcall_operator.api.spiceboxsession import (
    SessionMeta,
    SpiceboxSession,
    SpiceboxSessionSpec,
    SpiceboxSessionStatus,
)
from toolcall_operator.api.spiceboxtoolkit import (
    Parser,
    SpiceboxToolkit,
    SpiceboxToolkitSpec,
    SpiceboxToolkitStatus,
    Target,
    ToolkitEnv,
)
from toolcall_operator.api.spiceboxtoolspec import (
    SpiceboxToolspec,
    SpiceboxToolspecSpec,
    SpiceboxToolspecStatus,
    ToolkitRef,
)

M = TypeVar("M", bound=Model)

_LONGEST_TOOL = 64

_NOTHING_ASKED = SpiceboxSessionSpec.model_construct(class_="")
_NOTHING_OFFERED = SpiceboxClassSpec(resources=Resources(cpu=0, memory=0, ephemeral_storage=0))
NOTHING_DESCRIBED = SpiceboxToolkitSpec.model_construct(
    name="",
    toolkit_revision="",
    target=Target.model_construct(binary=""),
    parser=Parser(kind="declarative"),
    env=ToolkitEnv(allowed=()),
    subcommands=(),
)
"""Stands in for a toolkit that is not there, or cannot be read."""

_NOTHING_ALLOWED = SpiceboxToolspecSpec(toolkit=ToolkitRef.model_construct(name="", revision=""), allow_subcommands=())


@dataclass(frozen=True, slots=True)
class Unread:
    """An object that cannot be read: as much of its manifest as its status needs, and what is wrong, field by field.

    `tool` is the tool that a toolspec names, empty where it names none.
    """

    manifest: Mapping[str, Any] = field(repr=False)
    problems: tuple[str, ...]
    tool: str = ""

    @classmethod
    def of(cls, manifest: Mapping[str, Any], problems: Iterable[object]) -> Unread:
        """What is kept of a manifest; of its spec that is the tool alone."""
        kept = {name: manifest.get(name) for name in ("metadata", "status")}
        return cls(kept, tuple(map(str, problems)), _tool(manifest.get("spec")))

    @property
    def why(self) -> str:
        """All that is wrong, in one line."""
        return "; ".join(self.problems)


def session(unread: Unread) -> SpiceboxSession:
    """A session in the place of one that cannot be read: it asks for nothing, and has the status of that one."""
    return SpiceboxSession.model_construct(
        metadata=SessionMeta.model_construct(**_metadata(unread)),
        spec=_NOTHING_ASKED,
        status=_status(SpiceboxSessionStatus, unread),
    )


def session_class(unread: Unread) -> SpiceboxClass:
    """A class in the place of one that cannot be read: it offers nothing, and has the status of that one."""
    return SpiceboxClass.model_construct(
        metadata=ClassMeta.model_construct(**_metadata(unread)),
        spec=_NOTHING_OFFERED,
        status=_status(SpiceboxClassStatus, unread),
    )


def toolkit(unread: Unread) -> SpiceboxToolkit:
    """A toolkit in the place of one that cannot be read: it describes nothing, and has the status of that one."""
    return SpiceboxToolkit.model_construct(
        metadata=ObjectMeta.model_construct(**_metadata(unread)),
        spec=NOTHING_DESCRIBED,
        status=_status(SpiceboxToolkitStatus, unread),
    )


def toolspec(unread: Unread) -> SpiceboxToolspec:
    """A toolspec in the place of one that cannot be read: it allows nothing, and has the status of that one."""
    return SpiceboxToolspec.model_construct(
        metadata=ObjectMeta.model_construct(**_metadata(unread)),
        spec=_NOTHING_ALLOWED,
        status=_status(SpiceboxToolspecStatus, unread),
    )


def agent(unread: Unread) -> AgentIdentity:
    """An AgentIdentity in the place of one that cannot be read: it has no credentials, and the status of that one."""
    return AgentIdentity.model_construct(
        metadata=ObjectMeta.model_construct(**_metadata(unread)),
        spec=AgentIdentitySpec(),
        status=_status(AgentIdentityStatus, unread),
    )


def _tool(spec: object) -> str:
    """The text at `toolkit.name`, if it is there and not too long for a tool."""
    toolkit = spec.get("toolkit") if isinstance(spec, Mapping) else None
    name = toolkit.get("name") if isinstance(toolkit, Mapping) else None
    return name if isinstance(name, str) and len(name) <= _LONGEST_TOOL else ""


def _metadata(unread: Unread) -> dict[str, Any]:
    """The fields of the metadata; a name that is too long for one of ours is among them."""
    return dict(_readable(ObjectMeta, unread.manifest["metadata"]))


def _status(model: type[M], unread: Unread) -> M | None:
    raw = unread.manifest["status"]
    return None if raw is None else _readable(model, raw)


def _readable(model: type[M], raw: Mapping[str, Any]) -> M:
    """What can be read: a field that cannot is left out as a whole."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        wrong = {detail["loc"][0] for detail in error.errors(include_url=False, include_input=False) if detail["loc"]}
    return model.model_validate({name: value for name, value in raw.items() if name not in wrong})
