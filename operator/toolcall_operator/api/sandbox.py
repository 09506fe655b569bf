"""How a sandbox is made: its resources, volumes, network and pod."""

from typing import Annotated, Literal

from pydantic import Field

from toolcall_operator.api.base import Model
from toolcall_operator.api.quantities import Bytes, Cpu
from toolcall_operator.api.schema import Distinct, KeyedBy
from toolcall_operator.api.types import (
    AbsolutePath,
    Count32,
    Count64,
    Digest,
    FreeForm,
    Label,
    Labels,
    Name,
    OneLine,
    Pids,
    empty,
)

GiB, MiB = 1024**3, 1024**2


class NamedRef(Model):
    """Another object, by its name."""

    name: Name = Field(description="The object's name.")


class MountSource(Model):
    """Where mounted files come from."""

    config_map_ref: NamedRef = Field(description="The ConfigMap, in the session's namespace, that holds the files.")


class Mount(Model):
    """Files that are put read-only into the sandbox."""

    name: Label = Field(description="The name of the volume.")
    mount_path: AbsolutePath = Field(description="Where the files are seen, as an absolute path.")
    source: MountSource = Field(description="Where the files come from.")
    format: Literal["raw", "tarGz"] = Field(
        default="raw", description="raw: the files as they are. tarGz: an archive that is unpacked."
    )
    digest: Digest | None = Field(default=None, description="The digest the content must have.")


class PrivateVolume(Model):
    """A volume that only this sandbox sees and that ends with it."""

    name: Label = Field(description="The name of the volume.")
    mount_path: AbsolutePath = Field(description="Where it is seen, as an absolute path.")


class Network(Model):
    """What a sandbox may reach."""

    mode: Literal["none", "allowlist"] = Field(
        default="none",
        description="none: nothing. allowlist: names are resolved and the listed ports of the outside reached.",
    )
    allowed_hosts: tuple[OneLine, ...] = Field(default=(), max_length=256, description="The hosts that may be reached.")


class Resources(Model):
    """What a sandbox may use of its node."""

    cpu: Cpu = Field(description="How many CPUs it may use, such as 500m or 2.")
    memory: Bytes = Field(description="How much memory it may use.")
    ephemeral_storage: Bytes = Field(description="How much of the node's disk it may use.")
    pids_limit: Pids = Field(default=64, description="How many processes one call may have.")
    tmp_size: Bytes = Field(
        default=50 * MiB, description="The size of /tmp, and as much again for the homes of calls with credentials."
    )
    work_size: Bytes = Field(default=100 * MiB, description="The size of /work.")
    cache_size: Bytes = Field(default=2 * GiB, description="The size of the cache volume.")


class WarmPool(Model):
    """Sandboxes that are started before anyone asks for them."""

    replicas: Count32 = Field(default=0, description="How many wait in each namespace.")
    namespaces: Annotated[tuple[Label, ...], Distinct()] = Field(
        default=(), max_length=256, description="The namespaces in which they wait."
    )


class Sandbox(Model):
    """What carries the sandbox."""

    kind: Literal["pod"] = Field(default="pod", description="pod: an ordinary Kubernetes pod.")
    config: FreeForm | None = Field(default=None, description="Settings of that kind. Pods have none.")
    warm_pool: WarmPool | None = Field(default=None, description="Sandboxes that are started in advance.")


class Toleration(Model):
    """A taint of nodes that the pod puts up with."""

    key: OneLine | None = Field(default=None, description="The taint's key. Absent: every key.")
    operator: Literal["Exists", "Equal"] = Field(
        default="Equal", description="How key and value are compared with the taint."
    )
    value: OneLine | None = Field(default=None, description="The taint's value, for Equal.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="The taint's effect. Absent: every effect."
    )
    toleration_seconds: Count64 | None = Field(
        default=None, description="How long a NoExecute taint is put up with. Absent: for ever."
    )


class Requests(Model):
    """What the scheduler sets aside for a sandbox."""

    cpu: Cpu | None = Field(default=None, description="How many CPUs.")
    memory: Bytes | None = Field(default=None, description="How much memory.")
    ephemeral_storage: Bytes | None = Field(default=None, description="How much of the node's disk.")


class PodSettings(Model):
    """What the platform team sets on the pods of a class."""

    image_pull_secrets: Annotated[tuple[NamedRef, ...], KeyedBy("name")] = Field(
        default=(), max_length=16, description="Secrets, in the session's namespace, with which the image is pulled."
    )
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = Field(
        default=None, description="When the image is pulled. Absent: as Kubernetes decides by its tag."
    )
    node_selector: Labels = Field(default_factory=empty, description="Labels that the node must have.")
    tolerations: tuple[Toleration, ...] = Field(
        default=(), max_length=64, description="Taints of nodes that the pod puts up with."
    )
    affinity: FreeForm | None = Field(
        default=None, description="Which nodes and neighbours the pod wants, as in a pod's spec."
    )
    priority_class_name: Name | None = Field(default=None, description="The PriorityClass of the pod.")
    labels: Labels = Field(default_factory=empty, description="Labels to put on the pod.")
    annotations: Labels = Field(default_factory=empty, description="Annotations to put on the pod.")
    requests: Requests | None = Field(default=None, description="What the scheduler sets aside for the pod.")
