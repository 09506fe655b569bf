"""A check for manifest files: whether the core would refuse a call that stands in them with its session and class."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import validation
from toolcall_operator.core.validation import World
from toolcall_operator.local.lint import Known, Remark

_FIELD = re.compile(r"(spec[^\s:]*):? (.*)", re.DOTALL)


def objections(parsed: ToolCall | SpiceboxClass | SpiceboxSession, known: Known) -> Iterator[Remark]:
    """Everything a cluster would refuse the call for; nothing while its session, class or tool is not known."""
    session = known.session_of(parsed) if isinstance(parsed, ToolCall) else None
    session_class = known.class_of(session) if session else None
    if not isinstance(parsed, ToolCall) or session_class is None:
        return
    if parsed.spec.tool not in {tool.name for tool in session_class.spec.tools}:
        return
    world = World(session, session_class)
    for check in validation.CHECKS:
        if objection := check(parsed, world):
            yield _remark(objection.message)


def _remark(message: str) -> Remark:
    """The objection at the field of the call that it names, or at the call when it names another object's."""
    named = _FIELD.fullmatch(message)
    return Remark(named[1], named[2]) if named else Remark("", message)
