"""The volumes of a sandbox's pod: what each is kept on, where it is seen, and how much of it there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolcall_operator.api import quantities
from toolcall_operator.api.sandbox import MiB, Mount
from toolcall_operator.api.spiceboxclass import SpiceboxClassSpec
from toolcall_operator.core.pod import folders

BUNDLE = "bundle.tar.gz"
"""The key of a ConfigMap under which a mount of format tarGz has its archive; the public operator's, too."""

UNPACKED_BYTES = 64 * MiB
"""How much an archive may hold: the 1 MiB that a ConfigMap takes can be crafted to unpack to a thousand."""

_PROGRAM_BYTES = 64 * MiB
_READABLE_BY_ALL = 0o444
_ARCHIVES, _UNPACKED = "/archives", "/unpacked"
_NAME_SHOWN = 16


@dataclass(frozen=True, slots=True)
class Volume:
    """One volume and where the sandbox sees it; `path` is empty where it does not.

    `size` is what Kubernetes lets grow in it before it evicts the pod: the folders are on the node's disk, and not in
    memory, where filling them would end the sandbox. `besides` says that it comes on top of the class's own disk.
    """

    name: str
    path: str = ""
    config_map: str = ""
    size: int = 0
    besides: bool = True
    read_only: bool = False
    sub_path: str = ""

    def manifest(self) -> dict[str, Any]:
        """It, among the volumes of a pod."""
        if self.config_map:
            return {"name": self.name, "configMap": {"name": self.config_map, "defaultMode": _READABLE_BY_ALL}}
        return {"name": self.name, "emptyDir": {"sizeLimit": quantities.render_bytes(self.size)}}

    def mount(self) -> dict[str, Any]:
        """It, among the mounts of the sandbox."""
        read_only = {"readOnly": True} if self.read_only else {}
        sub_path = {"subPath": self.sub_path} if self.sub_path else {}
        return {"name": self.name, "mountPath": self.path, **read_only, **sub_path}


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive that is unpacked before the sandbox starts.

    Attributes:
        volume: The volume of its ConfigMap.
        folder: Where `supervisor unpack` finds it. The name of its mount is in it: what `unpack` says of an archive is
            shown on the session, cut to 256 characters, of which two digests take 142.
        sub_path: Where in the volume of all that is unpacked it goes.
        digest: What its digest must be, or "-".
    """

    volume: str
    folder: str
    sub_path: str
    digest: str

    @property
    def words(self) -> tuple[str, str, str]:
        """What `supervisor unpack` is told of it: FILE, DIGEST, DIR."""
        return f"{self.folder}/{BUNDLE}", self.digest, f"{_UNPACKED}/{self.sub_path}"

    def mount(self) -> dict[str, Any]:
        """Its ConfigMap, where `supervisor unpack` reads it."""
        return {"name": self.volume, "mountPath": self.folder, "readOnly": True}


UNPACKED_MOUNT: Mapping[str, Any] = {"name": "unpacked", "mountPath": _UNPACKED}
"""The volume of all that is unpacked, where `supervisor unpack` writes it."""


def volumes(spec: SpiceboxClassSpec, mounts: Sequence[Mount], spool_bytes: int) -> tuple[Volume, ...]:
    """The volumes of a sandbox; one that is seen at several paths comes as often.

    Args:
        spec: Its class.
        mounts: Those of its session, besides the class's.
        spool_bytes: How much output the supervisor keeps.
    """
    given = (*spec.mounts, *mounts)
    return (*_own(spec, spool_bytes), *_of_class(spec), *_unpacked(given), *_given(given))


def archives(spec: SpiceboxClassSpec, mounts: Sequence[Mount]) -> tuple[Archive, ...]:
    """The archives to unpack, of the class and then of the session."""
    return tuple(
        Archive(_name(index), f"{_ARCHIVES}/{index}-{mount.name[:_NAME_SHOWN]}", str(index), mount.digest or "-")
        for index, mount in enumerate((*spec.mounts, *mounts))
        if mount.format == "tarGz"
    )


def manifests(found: Iterable[Volume]) -> list[dict[str, Any]]:
    """The volumes of a pod, each once."""
    return list({volume.name: volume.manifest() for volume in found}.values())


def mounts(found: Iterable[Volume]) -> list[dict[str, Any]]:
    """Where the sandbox sees them."""
    return [volume.mount() for volume in found if volume.path]


def writable(spec: SpiceboxClassSpec) -> tuple[str, ...]:
    """The folders of the class that tools may write to, besides those that every sandbox has."""
    return tuple(volume.path for volume in _of_class(spec))


def _own(spec: SpiceboxClassSpec, spool_bytes: int) -> Iterator[Volume]:
    """What every sandbox has."""
    resources = spec.resources
    yield Volume("toolcall", folders.SUPERVISOR, size=_PROGRAM_BYTES, read_only=True)
    # An eighth more than the supervisor fills: evicting the pod for output that it keeps would lose the output.
    yield Volume("spool", folders.SPOOL, size=spool_bytes + spool_bytes // 8)
    yield Volume("workspace", folders.WORKSPACE, size=resources.ephemeral_storage, besides=False)
    yield Volume("work", folders.WORK, size=resources.work_size)
    yield Volume("tmp", folders.TMP, size=resources.tmp_size)
    # What calls that carry credentials have in the place of /tmp, each a folder that no other reaches.
    yield Volume("private", folders.PRIVATE, size=resources.tmp_size)


def _of_class(spec: SpiceboxClassSpec) -> Iterator[Volume]:
    """What the class wants writable."""
    resources = spec.resources
    if resources.cache_size:
        yield Volume("cache", folders.CACHE, size=resources.cache_size)
    paths = [folders.plain(volume.mount_path) for volume in spec.private_volumes]
    for kind, found in (("private", paths), ("writable", folders.on_their_own(spec))):
        for index, path in enumerate(found):
            yield Volume(f"{kind}-{index}", path, size=resources.ephemeral_storage, besides=False)


def _unpacked(given: Sequence[Mount]) -> Iterator[Volume]:
    """One volume, of which the sandbox sees a folder for each archive."""
    size = UNPACKED_BYTES * sum(mount.format == "tarGz" for mount in given)
    for index, mount in enumerate(given):
        if mount.format == "tarGz":
            path = folders.plain(mount.mount_path)
            yield Volume("unpacked", path, size=size, read_only=True, sub_path=str(index))


def _given(given: Sequence[Mount]) -> Iterator[Volume]:
    """The ConfigMaps; the sandbox itself sees only those that are no archives."""
    for index, mount in enumerate(given):
        path = folders.plain(mount.mount_path) if mount.format == "raw" else ""
        yield Volume(_name(index), path, config_map=mount.source.config_map_ref.name, read_only=True)


def _name(index: int) -> str:
    """The name of the volume of a mount: the class and the session may use one name for two of them."""
    return f"mount-{index}"
