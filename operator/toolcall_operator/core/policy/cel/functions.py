"""The functions that the language has here and nowhere else: of paths, files, versions and the call."""

from __future__ import annotations

from toolcall_operator.core.policy import filepaths
from toolcall_operator.core.policy.cel import patterns
from toolcall_operator.core.policy.cel.errors import EvaluationError
from toolcall_operator.core.policy.cel.frame import Frame
from toolcall_operator.core.policy.cel.patterns import BadPattern
from toolcall_operator.core.policy.cel.values import Timestamp, Value

_PATH = 4_096
"""The longest path that Linux opens (PATH_MAX)."""


def now(frame: Frame) -> Timestamp:
    """The moment of the decision."""
    if frame.now is None:
        raise EvaluationError("now() is not known here")
    return frame.now


def is_under(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or below it, by its letters; never one with `..`: it may lead anywhere."""
    if path[:1] != "/" or folder[:1] != "/" or max(len(path), len(folder)) > _PATH:
        return False
    place, above = filepaths.normalised(path, "/"), filepaths.normalised(folder, "/")
    return place is not None and above is not None and filepaths.is_under(place, above)


def glob_match(frame: Frame, pattern: str, text: str) -> bool:
    """Whether a text is as a file pattern says; never by a pattern that is bad."""
    try:
        return patterns.computed(frame, pattern, patterns.glob).found(frame, text)
    except BadPattern:
        return False


def matches(frame: Frame, text: str, pattern: str) -> bool:
    """Whether a part of a text is as a regular expression says."""
    try:
        return patterns.computed(frame, pattern, patterns.regular).found(frame, text)
    except BadPattern as bad:
        raise EvaluationError(f"the pattern of matches() {bad}") from None


def flag(flags: Value, name: Value) -> str:
    """The text of a flag of the call; "" when it is not set."""
    value = flags.get(name, "") if isinstance(flags, dict) and isinstance(name, str) else None
    if isinstance(value, str):
        return str(value)
    raise EvaluationError("call.flag() is for flags whose value is a text")


def has(group: Value, name: Value) -> bool:
    """Whether the call has a flag, or an environment variable, of this name."""
    if isinstance(group, dict) and isinstance(name, str):
        return name in group
    raise EvaluationError("call.hasFlag() and call.hasEnv() take a name")
