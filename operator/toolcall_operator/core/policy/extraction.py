"""The version of a program in what it prints: by a regular expression, as a field of JSON, or as the first line."""

from __future__ import annotations

import json
from collections.abc import Iterator

import re2  # type: ignore[import-untyped]  # the package has no annotations

from toolcall_operator.api.parsing import Problem
from toolcall_operator.api.spiceboxtoolkit import Extract, VersionProbe

OUTPUT = 16 << 10
"""As many bytes of the output are looked at."""

LONGEST = 128
"""A longer text is no version."""

_INSTRUCTIONS = 512
"""Measured: to search OUTPUT by a pattern of 700 takes 25 ms at worst; one that finds a version has 10 to 50."""

_MEMORY = 1 << 17
_PATH = "spec.target.versionProbe.extract.pattern"


def problems(probe: VersionProbe) -> Iterator[Problem]:
    """What keeps a version from ever being found."""
    extract = probe.extract
    if extract.kind == "regex" and not _is_usable(extract.pattern or ""):
        yield Problem(_PATH, "must be a regular expression of RE2, not too large, with exactly one group")
    if extract.kind == "json" and not all((extract.pattern or "").split(".")):
        yield Problem(_PATH, "must be the path of a field, such as clientVersion.gitVersion")


def version(extract: Extract, stdout: bytes) -> str | None:
    """The version in what a program printed; None if it is not there, or no line of 1 to 128 visible characters."""
    text = stdout[:OUTPUT].decode(errors="replace")
    match extract.kind:
        case "regex":
            found = _captured(extract.pattern or "", text)
        case "json":
            found = _field(extract.pattern or "", text)
        case "line1":
            found = text.strip().partition("\n")[0]
    found = found.strip() if found else ""
    return found if found.isprintable() and 0 < len(found) <= LONGEST else None


def _is_usable(pattern: str) -> bool:
    try:
        compiled = _compiled(pattern)
    except re2.error:
        return False
    return bool(compiled.groups == 1 and compiled.programsize <= _INSTRUCTIONS)


def _captured(pattern: str, text: str) -> str | None:
    found = _compiled(pattern).search(text)
    return found[1] if found else None


def _compiled(pattern: str) -> re2._Regexp:
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    return re2.compile(pattern, options)


def _field(path: str, text: str) -> str | None:
    """The text at a path of names and, in lists, of numbers."""
    try:
        found = json.loads(text)
        for step in path.split("."):
            found = found[int(step) if isinstance(found, list) else step]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return found if isinstance(found, str) else None
