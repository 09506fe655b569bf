"""A check for manifest files: whether the core would refuse a call that stands in them with its session and class."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from toolcall_operator.api.parsing import Parsed
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import validation
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.policy.deciding.candidates import Candidate
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.world import World
from toolcall_operator.local.lint import Known, Remark
from toolcall_operator.local.policies import Policies


def objections(parsed: Parsed, known: Known, now: datetime) -> Iterator[Remark]:
    """Everything a cluster would refuse the call for at the time `now`, as far as it can be told from the documents.

    Nothing while its session, class or tool is not known; and what toolspecs deny only if no other may allow it.
    """
    session = known.session_of(parsed) if isinstance(parsed, ToolCall) else None
    session_class = known.class_of(session) if session else None
    if not isinstance(parsed, ToolCall) or session is None or session_class is None:
        return
    toolspecs, identity = _toolspecs(known.policies, session, session_class), known.identity_of(session)
    world = World(session, session_class, toolspecs=toolspecs, identity=identity)
    # Of an unknown tool, lint tells by itself; an identity that is in no file may be in the cluster.
    passed_over = {Reason.TOOL_UNKNOWN, *([] if identity else [Reason.CREDENTIAL_UNRESOLVED])}
    for objection in validation.objections(parsed, world, now):
        if isinstance(objection, Refused) and objection.reason not in passed_over:
            yield Remark(objection.path, objection.message.removeprefix(f"{objection.path} "))


def _toolspecs(
    policies: Policies, session: SpiceboxSession, session_class: SpiceboxClass
) -> tuple[Candidate, ...] | None:
    """Those that judge; a call that one of them may still allow in a cluster has to wait, and is not refused."""
    panel = policies.panel(session, session_class)
    return None if panel is None else (*panel, *policies.waiting(session, session_class))
