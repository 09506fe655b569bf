"""Links to the supervisor of a pod, each an exec of `connect`; a pod that is no more is told from one out of reach."""

from __future__ import annotations

from toolcall_operator import errors
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.exec import ExecStream
from toolcall_operator.adapters.cluster.resources import PODS, Address
from toolcall_operator.adapters.sandbox.link import Link
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcallstatus import Dispatch
from toolcall_operator.core.pod import folders, pods
from toolcall_operator.core.pod.pods import PodView
from toolcall_operator.core.reasons import Reason

COMMAND = (f"{folders.SUPERVISOR}/supervisor", "connect")


class PodConnector:
    """A `link.Connector` for one pod, known by its UID."""

    def __init__(self, client: Client, pod: PodView) -> None:
        self._client = client
        self._address = PODS.named(pod.name, pod.namespace)
        self._uid = pod.uid

    async def connect(self) -> Link:
        """A new exec of `connect`; that it works is not known before the supervisor's hello."""
        try:
            stream = await self._client.exec(self._address, pods.SANDBOX, COMMAND)
        except errors.OperatorError as failed:
            raise await self._judged(errors.Unavailable(str(failed))) from failed

        async def explain(trouble: errors.Unavailable) -> errors.OperatorError:
            return await self._judged(_explained(trouble, stream))

        return Link(stream, stream, stream.close, explain)

    async def _judged(self, trouble: errors.Unavailable) -> errors.OperatorError:
        """What `trouble` with the pod means, once the API server was asked: that the pod is no more, or just that."""
        try:
            await _there(self._client, self._address, self._uid)
        except errors.SandboxLost as lost:
            return lost
        except errors.OperatorError:
            pass
        return trouble


async def claimed(client: Client, session: SpiceboxSession, claim: Dispatch) -> PodView:
    """The pod of `session` that a call was given to, as the API server has it now.

    Raises:
        Unavailable: it could not be asked for.
        SandboxLost: it has ended, or is gone.
    """
    try:
        address = PODS.named(claim.pod_name or "", session.metadata.namespace)
        return await _there(client, address, claim.pod_uid or "")
    except errors.Rejected as refused:
        raise errors.Unavailable(str(refused)) from refused


async def _there(client: Client, address: Address, uid: str) -> PodView:
    """A pod that may live: one of its name with another UID is another one.

    Raises:
        SandboxLost: it has ended, or is gone.
    """
    try:
        pod = PodView.parse(await client.get(address))
    except errors.Gone:
        raise errors.SandboxLost(Reason.SANDBOX_GONE, "the pod of the sandbox is gone") from None
    if pod.uid != uid:
        raise errors.SandboxLost(Reason.SANDBOX_GONE, "the pod of the sandbox is gone, another has its name")
    if known := lost(pod):
        raise known
    return pod


def lost(pod: PodView) -> errors.SandboxLost | None:
    """Why a pod's sandbox has ended for good; None while it may live."""
    state = pods.state(pod)
    if state.lost is None:
        return None
    return errors.SandboxLost(state.lost, state.problem or "the pod of the sandbox has ended")


def _explained(trouble: errors.Unavailable, stream: ExecStream) -> errors.Unavailable:
    return errors.Unavailable(f"{trouble} ({stream.last_words})") if stream.last_words else trouble
