"""Which resource a call is about, as its toolkit names it: `call.resourceId` in expressions."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from toolcall_operator.api.permissions import PermissionCheck
from toolcall_operator.core.policy.cel import hosts, programs
from toolcall_operator.core.policy.cel.errors import CelError, EvaluationError
from toolcall_operator.core.policy.cel.programs import Kind, Program
from toolcall_operator.core.policy.commandline.values import CommandLine, Value
from toolcall_operator.core.policy.deciding.effects import UNTOLD

if TYPE_CHECKING:
    from toolcall_operator.core.policy.loading.toolkits import Toolkit

_NAME = re.compile(r"\{([^{}]*)\}")
_DEFAULT_PORTS = {"http": ":80", "ws": ":80", "https": ":443", "wss": ":443"}
_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<user>[^/?#]*@)?[^/?#]+(?P<path>[^?#]*)(?P<query>\?[^#]*)?"
)
_DOTS = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)
_OF_GITHUB = re.compile(
    r"(?:https://github\.com/|ssh://git@github\.com/|git@github\.com:)?"
    r"(?P<owner>[A-Za-z0-9][A-Za-z0-9-]*)/(?P<name>[A-Za-z0-9_.-]+?)(?:\.git)?/?",
    re.ASCII | re.IGNORECASE,
)


def resource_id(toolkit: Toolkit, line: CommandLine) -> str:
    """The id of the resource; "" if calls of this kind are about none.

    A call that is about one which cannot be told gives `UNTOLD`, not "": a policy that lets calls without a resource
    pass must not let this one pass.
    """
    args: dict[str, Value] = {**line.positional, **line.flags, "subcommand": line.subcommand.name}
    try:
        check = _check(toolkit, line, args)
        if check is None:
            return ""
        found = _id(check, args)
    except (CelError, EvaluationError):
        return UNTOLD
    for name in check.resource_id_transforms:
        found = TRANSFORMS.get(name, _unknown)(found) if found else None
    return found or UNTOLD


def _check(toolkit: Toolkit, line: CommandLine, args: Mapping[str, Value]) -> PermissionCheck | None:
    """What is asked before the call: of the first variant whose condition holds, the subcommand, or the toolkit."""
    for variant in line.subcommand.permission_variants:
        if _program(variant.when, Kind.BOOL).evaluate(programs.Scope(args=args)):
            return _naming(variant.check.check)
    permission = line.subcommand.permission or toolkit.spec.permission
    return _naming(permission.check) if permission else None


def _naming(check: PermissionCheck | None) -> PermissionCheck | None:
    """The check if it names a resource by arguments of the call: plain text such as `workspace` names none."""
    if check is None or check.resource_id_expr:
        return check
    return check if "{" in (check.resource_id_template or "") else None


def _id(check: PermissionCheck, args: Mapping[str, Value]) -> str | None:
    if check.resource_id_expr:
        return str(_program(check.resource_id_expr, Kind.STRING).evaluate(programs.Scope(args=args)))
    template = check.resource_id_template or ""
    named = _NAME.findall(template)
    if not all(isinstance(args.get(name), str | int) and not isinstance(args[name], bool) for name in named):
        return None
    return _NAME.sub(lambda part: str(args[part[1]]), template)


@functools.lru_cache(maxsize=4_096)
def _program(source: str, wanted: Kind) -> Program:
    return programs.compiled(source, wanted, ("args",))


def normalised_url(text: str) -> str | None:
    """A URL as there is one way to write it; what is none stays as it is. None: programs differ in where it leads.

    Scheme and host in lower case, no default port, no fragment. User name, query, dots and slashes at the end stay: two
    resources must never become one. A path with `.` or `..` is refused.
    """
    if "://" not in text:
        return text
    host, url = hosts.of(text), _URL.fullmatch(text.partition("#")[0])
    if not host or not url or any(map(_DOTS.fullmatch, url["path"].split("/"))):
        return None
    scheme = url["scheme"].lower()
    host = host.removesuffix(_DEFAULT_PORTS.get(scheme, "\0"))
    return f"{scheme}://{url['user'] or ''}{host}{url['path']}{url['query'] or ''}"


def github_repository(text: str) -> str:
    """The one address of a repository of github.com, however it is written (owner/name, too); others stay as they are.

    Its owner and name are the same in upper and lower case there.
    """
    found = _OF_GITHUB.fullmatch(text)
    if not found or found["name"] in {".", ".."}:
        return text
    return f"https://github.com/{found['owner']}/{found['name']}".lower()


def _itself(text: str) -> str:
    return text


def _unknown(_text: str) -> None:
    """What a transform makes of an id that nobody here knows."""


TRANSFORMS: Mapping[str, Callable[[str], str | None]] = {
    "lowercase": str.lower,
    "casefold_identity": str.lower,
    "remove_spaces": lambda text: re.sub(r"[ \t\r\n]", "", text),
    "basename": lambda text: text.rstrip("/").rpartition("/")[2],
    "normalize_url": normalised_url,
    "github_repo_id": github_repository,
    # These write an id so that an authorisation system can keep it. An expression wants it as people write it.
    "github_repo_url_id": github_repository,
    "sha256": _itself,
    "spicedb_object_id": _itself,
    "spicedb_escape": _itself,
}
"""What toolkits may ask to be done to an id."""
