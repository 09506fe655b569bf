"""Ends what runs in a sandbox for calls that are no more, and lets the sandbox drop what nobody will ask for."""

from __future__ import annotations

from toolcall_operator import errors
from toolcall_operator.ports import CallState
from toolcall_operator.sessions.ports import Calls, SessionCluster, Supervisor


async def reclaim(supervisor: Supervisor, namespace: str, cluster: SessionCluster, calls: Calls) -> None:
    """End and acknowledge the calls of a supervisor whose ToolCalls are gone or have ended; leave all others alone.

    The supervisor is asked before the cluster: a call it names was claimed, so its ToolCall was there, and one that is
    missing in a list made afterwards is gone for good.

    Raises:
        Unavailable: there is more to do: nobody could be asked, or what was told to end still does.
    """
    held = {uid: state for uid, state in (await supervisor.calls()).items() if state != CallState.ACKNOWLEDGED}
    strangers = {uid: state for uid, state in held.items() if not calls.knows(uid)}
    if not strangers:
        return
    finished = await cluster.live_calls(namespace)
    ours = {uid: state for uid, state in strangers.items() if finished.get(uid, True) and not calls.knows(uid)}
    for uid, state in ours.items():
        if state == CallState.RUNNING:
            await supervisor.kill(uid)
        else:
            await supervisor.acknowledge(uid)
    if running := sum(state == CallState.RUNNING for state in ours.values()):
        raise errors.Unavailable(f"{running} processes of calls that are no more are being ended")
