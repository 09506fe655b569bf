"""Whether sessions can be made of a class: a list of checks, in the order in which an author would fix it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from toolcall_operator import errors
from toolcall_operator.api import paths
from toolcall_operator.api.base import GROUP
from toolcall_operator.api.sandbox import Mount, PodSettings, Requests
from toolcall_operator.api.spiceboxclass import SpiceboxClass, SpiceboxClassSpec
from toolcall_operator.core import envnames, support
from toolcall_operator.core.pod import folders
from toolcall_operator.core.policy.loading import coverage
from toolcall_operator.core.policy.loading.library import Library

_NAME_SHOWN = 64
_NOT_HANDED_ON = ("KUBERNETES_", "TOOLCALL_")  # calls.BaseEnv of the supervisor leaves them out


class ClassReason(StrEnum):
    """Why a class is valid, or is not: the reasons of its condition Valid."""

    VALID = "Valid"
    RESOLVED = "Resolved"
    INVALID_IMAGE = "InvalidImage"
    INVALID_TOOL = "InvalidTool"
    INVALID_RESOURCE = "InvalidResource"
    INVALID_ENV_DEFAULTS = "InvalidEnvDefaults"
    INVALID_MOUNTS = "InvalidMounts"
    INVALID_PRIVATE_VOLUMES = "InvalidPrivateVolumes"
    INVALID_WRITABLE_PATHS = "InvalidWritablePaths"
    INVALID_SANDBOX = "InvalidSandbox"
    INVALID_WARM_POOL = "InvalidSandboxWarmPool"
    NOT_SUPPORTED = "NotSupported"
    TOOLSPEC_COVERAGE_MISSING = "ToolspecCoverageMissing"
    MALFORMED_OBJECT = "MalformedObject"


class Judgement(NamedTuple):
    """Whether it is valid, the reason for machines, and the message for people, which names the field.

    `coverage` is, for every tool whose calls are judged, by which toolspecs; None if nobody has looked.
    """

    valid: bool
    reason: ClassReason
    message: str
    coverage: Mapping[str, tuple[str, ...]] | None = None


_VALID = Judgement(True, ClassReason.VALID, "sessions can be made of it")


def judged(session_class: SpiceboxClass, default_image: str = "", library: Library | None = None) -> Judgement:
    """The first objection to a class, or that it is valid; `default_image` is the operator's, for one that names none.

    Where there is a `library` of toolspecs, a class that declares some needs one for each of its programs.

    Raises:
        LookupError: there are no checks.
    """
    if not CHECKS:
        raise LookupError("without checks no class is valid")
    spec = session_class.spec
    if not spec.image:
        spec = spec.model_copy(update={"image": default_image if spec.image is None else ""})
    found = next(objections(spec), None)
    if library is None:
        return found or _VALID
    return (found or _covered(spec, library))._replace(coverage=coverage.coverage(spec, library))


def unread(why: str) -> Judgement:
    """The objection to a class that cannot be read."""
    return _invalid(ClassReason.MALFORMED_OBJECT, why)


def mounts_judged(mounts: Sequence[Mount], spec: SpiceboxClassSpec) -> Judgement:
    """The first objection to the mounts of a session in a sandbox of this class, or that they are valid."""
    return next(_session_mounts(mounts, spec), Judgement(True, ClassReason.VALID, "its mounts can be made"))


def objections(spec: SpiceboxClassSpec) -> Iterator[Judgement]:
    """Everything that speaks against a class, in the order of the checks; its image may be the operator's default."""
    for check in CHECKS:
        yield from check(spec)


def image_is_named(spec: SpiceboxClassSpec) -> Iterator[Judgement]:
    """There is an image to make sandboxes of."""
    if not (spec.image or "").strip():
        yield _invalid(ClassReason.INVALID_IMAGE, "spec.image is blank, and the operator has no image for this case")


def there_are_tools(spec: SpiceboxClassSpec) -> Iterator[Judgement]:
    """The class offers something; what each tool must have, its schema says."""
    if not spec.tools:
        yield _invalid(ClassReason.INVALID_TOOL, "spec.tools is empty: calls could ask for nothing")


def resources_are_enough(spec: SpiceboxClassSpec) -> Iterator[Judgement]:
    """No amount is nothing, which to Kubernetes is no limit; only the cache may be left out."""
    amounts = spec.resources
    for name, amount in (
        ("cpu", amounts.cpu),
        ("memory", amounts.memory),
        ("ephemeralStorage", amounts.ephemeral_storage),
        ("tmpSize", amounts.tmp_size),
        ("workSize", amounts.work_size),
    ):
        if not amount:
            yield _invalid(ClassReason.INVALID_RESOURCE, f"spec.resources.{name} must be more than 0")


def requests_are_within_limits(spec: SpiceboxClassSpec) -> Iterator[Judgement]:
    """Nothing is set aside that may not be used: no API server takes such a pod."""
    asked, limits = (spec.pod and spec.pod.requests) or Requests(), spec.resources
    for name, request, limit in (
        ("cpu", asked.cpu, limits.cpu),
        ("memory", asked.memory, limits.memory),
        ("ephemeralStorage", asked.ephemeral_storage, limits.ephemeral_storage),
    ):
        if (request or 0) > limit:
            words = f"spec.pod.requests.{name} must be at most spec.resources.{name}"
            yield _invalid(ClassReason.INVALID_RESOURCE, words)


def env_defaults_reach_tools(spec: SpiceboxClassSpec) -> Iterator[Judgement]:
    """Every variable has a name that a process can be given, and that no supervisor keeps from it."""
    for name in sorted(spec.env_defaults):
        if not envnames.is_env_name(name):
            words = "has a name that no process can be given: at most 256 letters, digits and _, no digit first"
            yield _invalid(ClassReason.INVALID_ENV_DEFAULTS, f"{_variable(name)} {words}")
        elif name.startswith(_NOT_HANDED_ON):
            words = f"would reach no tool: {' and '.join(_NOT_HANDED_ON)} are the beginnings of the supervisor's own"
            yield _invalid(ClassReason.INVALID_ENV_DEFAULTS, f"{_variable(name)} {words}")


def env_defaults_hold_no_secret(spec: SpiceboxClassSpec) -> Iterator[Judgement]:
    """No variable has a name that suggests a secret, but for those the class excepts."""
    for name in sorted(set(spec.env_defaults) - set(spec.allowed_env_names)):
        if envnames.secret_like(name):
            words = "has a name that suggests a secret, which everybody who reads classes would see"
            yield _invalid(
                ClassReason.INVALID_ENV_DEFAULTS,
                f"{_variable(name)} {words}; if it is none, it can be listed in spec.allowedEnvNames",
            )


def mounts_have_a_place(spec: SpiceboxClassSpec) -> Iterator[Judgement]:
    """No mount hides what is not its own."""
    yield from (_invalid(ClassReason.INVALID_MOUNTS, found) for found in folders.of_class_mounts(spec))


def private_volumes_have_a_place(spec: SpiceboxClassSpec) -> Iterator[Judgement]:
    """Nor does a private volume."""
    yield from (_invalid(ClassReason.INVALID_PRIVATE_VOLUMES, found) for found in folders.of_private_volumes(spec))


def writable_paths_have_a_place(spec: SpiceboxClassSpec) -> Iterator[Judgement]:
    """Nor does the volume of a writable path: the image itself cannot be written to."""
    yield from (_invalid(ClassReason.INVALID_WRITABLE_PATHS, found) for found in folders.of_writable_paths(spec))


def pod_leaves_ours_alone(spec: SpiceboxClassSpec) -> Iterator[Judgement]:
    """The labels and annotations by which the operator knows its pods are its own."""
    chosen = spec.pod or PodSettings()
    for field, found in (("labels", chosen.labels), ("annotations", chosen.annotations)):
        for name in sorted(found):
            if name.split("/")[0] == GROUP:
                words = (
                    f"spec.pod.{field}{paths.step(name[:_NAME_SHOWN])} begins with {GROUP}/, which is the operator's"
                )
                yield _invalid(ClassReason.INVALID_SANDBOX, words)


def warm_pool_has_namespaces(spec: SpiceboxClassSpec) -> Iterator[Judgement]:
    """A pool stands somewhere."""
    pool = spec.sandbox.warm_pool
    if pool and pool.replicas and not pool.namespaces:
        words = "spec.sandbox.warmPool.namespaces is empty: the replicas would stand nowhere"
        yield _invalid(ClassReason.INVALID_WARM_POOL, words)


def every_field_is_carried_out(spec: SpiceboxClassSpec) -> Iterator[Judgement]:
    """Nothing is asked for that this version would silently leave undone."""
    for path in support.unsupported(spec, "SpiceboxClass spec"):
        yield _not_supported(f"spec{path}")
    yield from _digests(spec.mounts)


CHECKS: tuple[Callable[[SpiceboxClassSpec], Iterator[Judgement]], ...] = (
    image_is_named,  # what a sandbox is made of
    there_are_tools,  # and made for
    resources_are_enough,  # how large it is
    requests_are_within_limits,
    env_defaults_reach_tools,  # what is in it: names first,
    env_defaults_hold_no_secret,  # then what they suggest
    mounts_have_a_place,  # each beside those before it
    private_volumes_have_a_place,
    writable_paths_have_a_place,
    pod_leaves_ours_alone,
    warm_pool_has_namespaces,  # before the pool itself, so that a pool nobody could fill is told as such
    every_field_is_carried_out,  # last: what is wrong here may be right with a newer operator
)
"""Each yields every objection it has."""


def _session_mounts(mounts: Sequence[Mount], spec: SpiceboxClassSpec) -> Iterator[Judgement]:
    yield from (_invalid(ClassReason.INVALID_MOUNTS, found) for found in folders.of_session_mounts(mounts, spec))
    yield from _digests(mounts)


def _digests(mounts: Sequence[Mount]) -> Iterator[Judgement]:
    """A digest is that of an archive: several files, which a raw mount is, have none that everybody would agree on."""
    for mount in mounts:
        if mount.digest and mount.format == "raw":
            yield _not_supported(f"spec.mounts[{mount.name}].digest of a raw mount")


def _covered(spec: SpiceboxClassSpec, library: Library) -> Judgement:
    """Whether every call of the class can find a toolspec that may accept it."""
    if not spec.toolspecs:
        return _VALID
    if lacking := coverage.lacking(spec, library):
        return _invalid(ClassReason.TOOLSPEC_COVERAGE_MISSING, lacking)
    return Judgement(True, ClassReason.RESOLVED, "sessions can be made of it, and toolspecs judge their calls")


def _invalid(reason: ClassReason, message: str) -> Judgement:
    return Judgement(False, reason, message)


def _not_supported(field: str) -> Judgement:
    words = f"{errors.foreign(field)} asks for something that is not supported here"
    return _invalid(ClassReason.NOT_SUPPORTED, words)


def _variable(name: str) -> str:
    """The path of a variable; a name without end, which would leave no room for the message, is cut."""
    return f"spec.envDefaults{paths.step(name[:_NAME_SHOWN])}"
