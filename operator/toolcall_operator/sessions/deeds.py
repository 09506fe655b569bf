"""Does one action for a session, and remembers what came of it."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from toolcall_operator import errors
from toolcall_operator.api.spiceboxclass import SpiceboxClass, SpiceboxClassSpec
from toolcall_operator.api.spiceboxsession import SpiceboxSessionStatus
from toolcall_operator.core.pod import netpolicy, podspec
from toolcall_operator.core.pod.pods import PodView
from toolcall_operator.core.session import status as sessionstatus
from toolcall_operator.core.session.actions import (
    Action,
    Delete,
    Discard,
    Greet,
    Hold,
    Leave,
    LookUpAgent,
    LookUpClass,
    MakePod,
    MakePolicy,
    Protect,
    ReadNamespace,
    Reclaim,
    Record,
    Release,
    Replace,
    Rest,
    Show,
    StopCalls,
)
from toolcall_operator.core.session.known import Absent, Labels
from toolcall_operator.core.session.view import SessionView
from toolcall_operator.sessions.case import Case
from toolcall_operator.sessions.ports import SessionCluster, SessionPorts
from toolcall_operator.sessions.reclaim import reclaim

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""The annotation by which the cluster autoscaler leaves a pod, and with it its node, alone."""


class Lacking(errors.Unavailable):
    """Something that people have to make is not there yet."""


async def do(action: Action, case: Case, view: SessionView, ports: SessionPorts) -> None:  # noqa: C901, PLR0912 (one line for each action)
    """Carry out one action; what it found out, or changed, is known afterwards.

    Raises:
        OperatorError: it was not carried out, or nobody knows.
    """
    cluster, session, now = ports.cluster, view.session, ports.time.now
    match action:
        case Hold():
            await cluster.hold_session(session)
        case LookUpClass():
            case.remember(looked_up=await _looked_up(session.spec.class_, cluster))
        case LookUpAgent():
            case.remember(has_agent=await cluster.has_agent((session.metadata.namespace, session.spec.agent or "")))
        case ReadNamespace():
            labels = await cluster.namespace_labels(session.metadata.namespace)
            case.remember(labels=Labels(labels, now()))
        case Show(status):
            await _report(status, case, view, cluster)
        case Record(status):
            await _report(status, case, view, cluster)
            case.remember(recorded_at=now())
        case Replace(status, streak):
            await _report(status, case, view, cluster)
            case.known = replace(case.known.without_trouble(Greet), streak=streak)
        case MakePolicy():
            await cluster.create(netpolicy.policy(session, _spec(view), ports.settings))
        case MakePod(name):
            await _make_pod(name, view, ports)
            case.remember(made_at=now())
        case Greet(uid):
            greeting = await ports.greeter.greet(_pod(uid, view), session)
            case.known = case.known.heard(uid, greeting, now())
        case Leave(uid):
            await ports.greeter.leave(uid)
            case.known = case.known.left(uid)
        case Reclaim(uid):
            await reclaim(ports.greeter.opened(_pod(uid, view)), session.metadata.namespace, cluster, ports.calls)
            case.remember(reclaimed=case.known.reclaimed | {uid})
        case Protect(uid, busy):
            await cluster.annotate_pod(_pod(uid, view), {SAFE_TO_EVICT: "false" if busy else None})
            case.remember(protected={**case.known.protected, uid: busy})
        case Discard(uid):
            await cluster.delete_pod(_pod(uid, view))
        case Delete():
            await cluster.delete_session(session)
        case StopCalls():
            await ports.calls.end_session(case.key)
        case Release():
            for uid in case.known.greeted:
                await ports.greeter.leave(uid)
            await cluster.release_session(session)
        case Rest():
            pass
        case _:
            assert_never(action)


async def _report(status: SpiceboxSessionStatus, case: Case, view: SessionView, cluster: SessionCluster) -> None:
    """Write a status, and tell people who watch events of the refusals and faults in it."""
    await (cluster.report_unread if view.unread else cluster.report_session)(view.session, status)
    case.remember(status=status)
    for reason, message in sessionstatus.remarks(view.session.status, status).items():
        cluster.remark(view.session, reason, message)


async def _looked_up(name: str, cluster: SessionCluster) -> SpiceboxClass | Absent:
    try:
        return await cluster.live_class(name) or Absent()
    except errors.Rejected as unread:
        return Absent(str(unread))


async def _make_pod(name: str, view: SessionView, ports: SessionPorts) -> None:
    """Make a pod, once the ConfigMaps it mounts are there: without them it would hang, and say so nowhere."""
    session, spec = view.session, _spec(view)
    for mount in (*spec.mounts, *session.spec.mounts):
        wanted = mount.source.config_map_ref.name
        if await ports.cluster.config_map(session.metadata.namespace, wanted) is None:
            where = f"in namespace {session.metadata.namespace}"
            raise Lacking(f"mount {mount.name} needs ConfigMap {wanted}, which is not {where}")
    key_hash = ports.key_hash(session.metadata.uid)
    await ports.cluster.create(podspec.pod(session, spec, name, ports.settings, key_hash))


def _spec(view: SessionView) -> SpiceboxClassSpec:
    if (spec := view.status.resolved_class) is None:
        raise LookupError("nothing is made for a session that has no class yet")
    return spec


def _pod(uid: str, view: SessionView) -> PodView:
    return next(pod for pod in view.pods if pod.uid == uid)
