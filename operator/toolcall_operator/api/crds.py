"""The CRDs, built from the models: what an API server needs to judge, default and show our objects."""

from dataclasses import dataclass
from typing import Any

from toolcall_operator.api import structural
from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.base import GROUP, VERSION, Manifest
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.types import LABEL

CATEGORIES = ["authzed", "spicebox"]


@dataclass(frozen=True)
class Column:
    """A column of ``kubectl get``; a wide one shows with ``-o wide`` only."""

    name: str
    path: str
    type: str
    description: str
    wide: bool = False

    def rendered(self) -> dict[str, Any]:
        """The column as a CRD spells it."""
        column = {"name": self.name, "type": self.type, "jsonPath": self.path, "description": self.description}
        return column | ({"priority": 1} if self.wide else {})


@dataclass(frozen=True)
class Kind:
    """What a CRD says of a kind besides the fields of its model."""

    model: type[Manifest]
    plural: str
    short: str
    scope: str
    columns: tuple[Column, ...]
    selectable: tuple[str, ...] = ()
    longest_name: int | None = None

    @property
    def name(self) -> str:
        """The kind as manifests write it."""
        return self.model.__name__


def _condition(kind: str, part: str) -> str:
    return f'.status.conditions[?(@.type=="{kind}")].{part}'


_AGE = Column("Age", ".metadata.creationTimestamp", "date", "How long ago it was made.")

# A column shows the first match of one path, and paths know no "else": Status reads the reason of Running, which the
# operator closes with the reason of Finished. So it tells what a call is doing, and then how it ended.
_CALL_COLUMNS = (
    Column("Session", ".spec.session", "string", "The session in which it runs."),
    Column("Tool", ".spec.tool", "string", "The tool it runs."),
    Column("Status", _condition("Running", "reason"), "string", "What it is doing, or how it ended."),
    Column("Exit", ".status.exitCode", "integer", "The exit code of its process."),
    _AGE,
    Column("Started", ".status.startedAt", "date", "How long ago it was given to its sandbox.", wide=True),
    Column("Finished", ".status.finishedAt", "date", "How long ago it ended.", wide=True),
    Column("Pod", ".status.dispatch.podName", "string", "The pod in which it runs.", wide=True),
)

KINDS = (
    Kind(ToolCall, "toolcalls", "tc", "Namespaced", _CALL_COLUMNS, selectable=(".status.finished",)),
    Kind(
        SpiceboxSession,
        "spiceboxsessions",
        "sbxses",
        "Namespaced",
        (
            Column("Class", ".spec.class", "string", "The class it is made from."),
            Column("Ready", _condition("Ready", "status"), "string", "Whether calls can run in it."),
            Column("Calls", ".status.callCount", "integer", "How many calls were started."),
            _AGE,
            Column("Pod", ".status.podName", "string", "Its pod.", wide=True),
        ),
        longest_name=52,
    ),
    Kind(
        SpiceboxClass,
        "spiceboxclasses",
        "sbxcls",
        "Cluster",
        (
            Column("Valid", _condition("Valid", "status"), "string", "Whether sessions can be made of it."),
            _AGE,
            Column("Image", ".spec.image", "string", "The image of its sandboxes.", wide=True),
        ),
        longest_name=52,
    ),
    Kind(
        SpiceboxToolkit,
        "spiceboxtoolkits",
        "sbxtk",
        "Cluster",
        (
            Column("Tool", ".spec.name", "string", "The tool it describes."),
            Column("Revision", ".spec.toolkitRevision", "string", "The revision of the description."),
            Column("Valid", _condition("Valid", "status"), "string", "Whether toolspecs can build on it."),
            _AGE,
            Column("Reason", _condition("Valid", "reason"), "string", "Why it is valid, or is not.", wide=True),
        ),
    ),
    Kind(
        SpiceboxToolspec,
        "spiceboxtoolspecs",
        "sbxtsp",
        "Cluster",
        (
            Column("Toolkit", ".spec.toolkit.name", "string", "The toolkit it speaks of."),
            Column("Valid", _condition("Valid", "status"), "string", "Whether it can judge calls."),
            Column("Reason", _condition("Valid", "reason"), "string", "Why it can, or cannot."),
            _AGE,
            Column("Revision", ".spec.toolkit.revision", "string", "The toolkit's revision it names.", wide=True),
        ),
    ),
    Kind(
        AgentIdentity,
        "agentidentities",
        "agid",
        "Namespaced",
        (
            Column("Valid", _condition("Valid", "status"), "string", "Whether all its credentials can be had."),
            _AGE,
            Column("Reason", _condition("Valid", "reason"), "string", "Why they can, or cannot.", wide=True),
        ),
    ),
)

CLUSTER_WIDE = frozenset(kind.name for kind in KINDS if kind.scope == "Cluster")
"""The kinds whose objects stand in no namespace."""


def definition(kind: Kind) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {"group": GROUP, "names": _names(kind), "scope": kind.scope, "versions": [_version(kind)]},
    }


def _names(kind: Kind) -> dict[str, Any]:
    return {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.name.lower(),
        "shortNames": [kind.short],
        "categories": CATEGORIES,
    }


def _version(kind: Kind) -> dict[str, Any]:
    version: dict[str, Any] = {"name": VERSION, "served": True, "storage": True}
    if kind.selectable:
        version["selectableFields"] = [{"jsonPath": path} for path in kind.selectable]
    return version | {
        "subresources": {"status": {}},
        "additionalPrinterColumns": [column.rendered() for column in kind.columns],
        "schema": {"openAPIV3Schema": schema(kind)},
    }


def schema(kind: Kind) -> dict[str, Any]:
    """The structural schema of a whole object of this kind."""
    drawn = structural.of(kind.model)
    return drawn | {
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": f"{GROUP}/{VERSION}."},
            "kind": {"type": "string", "description": f"{kind.name}."},
            "metadata": _metadata(kind),
            "spec": drawn["properties"]["spec"],
            "status": drawn["properties"]["status"],
        },
    }


def _metadata(kind: Kind) -> dict[str, Any]:
    """The API server owns metadata; a CRD may only narrow the name."""
    if kind.longest_name is None:
        return {"type": "object"}
    name = {"type": "string", "maxLength": kind.longest_name, "pattern": f"^{LABEL}$"}
    return {"type": "object", "properties": {"name": name}}
