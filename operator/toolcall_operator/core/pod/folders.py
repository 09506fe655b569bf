"""The folders of a sandbox: those that every one has, and where its class and its session may put others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from toolcall_operator import errors
from toolcall_operator.api.sandbox import Mount
from toolcall_operator.api.spiceboxclass import SpiceboxClassSpec

WORKSPACE, WORK, TMP = "/workspace", "/work", "/tmp"  # noqa: S108 (in the sandbox, which is nobody else's)
PRIVATE = f"{WORK}/private"
CACHE = "/var/ap-cache"
"""A cache of the tools' own that the class gives a size; the public operator of this API has it there, too."""

SUPERVISOR, SPOOL = "/opt/toolcall", "/run/toolcall"
"""The supervisor's: its program, which nobody may replace, and the output it keeps, which nobody may read."""

_OPEN = (WORKSPACE, TMP, CACHE)
"""What tools may write to anyway, all of it."""

_TAKEN = (*_OPEN, WORK, SUPERVISOR, SPOOL, "/proc", "/sys", "/dev", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf")
"""What a pod puts there itself: another volume in, at or above one of these would hide it or be hidden."""

_UNREADABLE = ("/run", "/var/run")
"""No tool may read there: what is not the supervisor's own may be somebody's socket."""

_PROGRAMS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr")
"""Where images have their programs: which tools there are says the class, and no session puts others in their place."""

Placed = tuple[str, str]
"""A field of a manifest, and the path that it puts a volume at."""


def of_class_mounts(spec: SpiceboxClassSpec) -> Iterator[str]:
    """What speaks against where the class has its mounts, a sentence each."""
    yield from _objections(_mounts(spec.mounts), (*_TAKEN, *_UNREADABLE), ())


def of_private_volumes(spec: SpiceboxClassSpec) -> Iterator[str]:
    """What speaks against where the class has its private volumes."""
    yield from _objections(_private(spec), _TAKEN, _mounts(spec.mounts))


def of_writable_paths(spec: SpiceboxClassSpec) -> Iterator[str]:
    """What speaks against the paths that the class wants writable."""
    others = (*_mounts(spec.mounts), *_private(spec))
    yield from _objections([(f"spec.writablePaths {path}", path) for path in on_their_own(spec)], _TAKEN, others)


def of_session_mounts(mounts: Sequence[Mount], spec: SpiceboxClassSpec) -> Iterator[str]:
    """What speaks against where a session has its mounts, in a sandbox of this class."""
    own = [(f"writable path {path}", path) for path in on_their_own(spec)]
    others = [(f"SpiceboxClass {field}", path) for field, path in (*_mounts(spec.mounts), *_private(spec), *own)]
    yield from _objections(_mounts(mounts), (*_TAKEN, *_UNREADABLE, *_PROGRAMS), others)


def on_their_own(spec: SpiceboxClassSpec) -> tuple[str, ...]:
    """The writable paths of a class that need a volume: the others lie in one that is writable anyway."""
    covered = (*_OPEN, f"{WORK}/out", *(plain(volume.mount_path) for volume in spec.private_volumes))
    paths = [path for path in map(plain, spec.writable_paths) if not any(_within(path, each) for each in covered)]
    return tuple(path for path in dict.fromkeys(paths) if not any(_within(path, each) for each in {*paths} - {path}))


def plain(path: str) -> str:
    """A path as the others are written: without a '/' at its end."""
    return path.rstrip("/") or "/"


def _mounts(mounts: Sequence[Mount]) -> list[Placed]:
    return [(f"spec.mounts[{mount.name}].mountPath {mount.mount_path}", plain(mount.mount_path)) for mount in mounts]


def _private(spec: SpiceboxClassSpec) -> list[Placed]:
    return [
        (f"spec.privateVolumes[{volume.name}].mountPath {volume.mount_path}", plain(volume.mount_path))
        for volume in spec.private_volumes
    ]


def _objections(new: Sequence[Placed], reserved: Iterable[str], others: Sequence[Placed]) -> Iterator[str]:
    """A sentence for each of `new` that cannot be where it is, beside `reserved`, the `others` and those before it."""
    for index, (field, path) in enumerate(new):
        if problem := _problem(path, reserved, (*others, *new[:index])):
            yield f"{errors.foreign(field)} {problem}"


def _problem(path: str, reserved: Iterable[str], others: Iterable[Placed]) -> str:
    if not _is_plain(path):
        return "must be a path without ':', '//' and parts that are '.' or '..'"
    if taken := next((each for each in reserved if _touch(path, each)), ""):
        return f"must not be, hold or lie in {taken}, which is not for volumes"
    if field := next((field for field, other in others if _touch(path, other)), ""):
        return f"must not be, hold or lie in the folder of {errors.foreign(field)}"
    return ""


def _is_plain(path: str) -> bool:
    # Kubernetes refuses ':' in paths of mounts, and calls those with '..' backsteps.
    return path != "/" and path.isprintable() and ":" not in path and not {"", ".", ".."} & set(path.split("/")[1:])


def _touch(one: str, other: str) -> bool:
    return _within(one, other) or _within(other, one)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
