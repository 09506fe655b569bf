"""A check for manifest files: whether the core would refuse a call that stands in them with its session and class."""

from __future__ import annotations

from collections.abc import Iterator

from toolcall_operator.api.parsing import Parsed
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import validation
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.world import World
from toolcall_operator.local.lint import Known, Remark


def objections(parsed: Parsed, known: Known) -> Iterator[Remark]:
    """Everything a cluster would refuse the call for; nothing while its session, class or tool is not known."""
    session = known.session_of(parsed) if isinstance(parsed, ToolCall) else None
    session_class = known.class_of(session) if session else None
    if not isinstance(parsed, ToolCall) or session is None or session_class is None:
        return
    world = World(session, session_class, toolspecs=known.policies.panel(session, session_class))
    for objection in validation.objections(parsed, world):
        # Of an unknown tool, lint tells by itself.
        if isinstance(objection, Refused) and objection.reason is not Reason.TOOL_UNKNOWN:
            yield Remark(objection.path, objection.message.removeprefix(f"{objection.path} "))
