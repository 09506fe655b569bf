"""Links to the supervisor of a pod, each an exec of `connect`; a pod that is no more is told from one out of reach."""

from __future__ import annotations

from toolcall_operator import errors
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.exec import ExecStream
from toolcall_operator.adapters.cluster.resources import PODS
from toolcall_operator.adapters.sandbox.link import Link
from toolcall_operator.core.pod import pods
from toolcall_operator.core.pod.pods import PodView
from toolcall_operator.core.reasons import Reason

CONTAINER = "sandbox"
COMMAND = ("/opt/toolcall/supervisor", "connect")


class PodConnector:
    """A `link.Connector` for one pod, known by its UID."""

    def __init__(self, client: Client, pod: PodView) -> None:
        self._client = client
        self._address = PODS.named(pod.name, pod.namespace)
        self._uid = pod.uid

    async def connect(self) -> Link:
        """A new exec of `connect`; that it works is not known before the supervisor's hello."""
        try:
            stream = await self._client.exec(self._address, CONTAINER, COMMAND)
        except errors.OperatorError as failed:
            raise await self._judged(errors.Unavailable(str(failed))) from failed

        async def explain(trouble: errors.Unavailable) -> errors.OperatorError:
            return await self._judged(_explained(trouble, stream))

        return Link(stream, stream, stream.close, explain)

    async def _judged(self, trouble: errors.Unavailable) -> errors.OperatorError:
        """What `trouble` with the pod means, once the API server was asked: that the pod is no more, or just that."""
        try:
            pod = PodView.parse(await self._client.get(self._address))
        except errors.Gone:
            return errors.SandboxLost(Reason.SANDBOX_GONE, "the pod of the sandbox is gone")
        except errors.OperatorError:
            return trouble
        if pod.uid != self._uid:
            return errors.SandboxLost(Reason.SANDBOX_GONE, "the pod of the sandbox is gone, another has its name")
        return lost(pod) or trouble


def lost(pod: PodView) -> errors.SandboxLost | None:
    """Why a pod's sandbox has ended for good; None while it may live."""
    state = pods.state(pod)
    if state.lost is None:
        return None
    return errors.SandboxLost(state.lost, state.problem or "the pod of the sandbox has ended")


def _explained(trouble: errors.Unavailable, stream: ExecStream) -> errors.Unavailable:
    return errors.Unavailable(f"{trouble} ({stream.last_words})") if stream.last_words else trouble
