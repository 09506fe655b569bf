"""Which cluster is used: the user's own, else kind where a Docker daemon answers, else the local one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hack.cluster import kind, layout, local, theirs
from hack.cluster.say import Impossible


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster, and what can be done to it."""

    what: str
    kubeconfig: str
    up: Callable[[], None]
    load: Callable[[Path], None]


def chosen() -> Cluster:
    """The cluster to use. One that was started here is kept, whichever kind it is.

    Raises:
        Impossible: when none can be had; the text says why.
    """
    if kubeconfig := theirs.named():
        return Cluster("the one of your KUBECONFIG", kubeconfig, lambda: theirs.up(kubeconfig), theirs.load)
    if kind.is_started() or (not local.node() and kind.is_possible()):
        return Cluster("kind", str(layout.KUBECONFIG), kind.up, kind.load)
    if reasons := local.obstacles():
        raise Impossible(
            "no cluster is possible here: KUBECONFIG names none, no Docker daemon answers (for kind),"
            f" and a local one cannot be: {'; '.join(reasons)}"
        )
    return Cluster("a local one", str(layout.KUBECONFIG), local.up, local.load)
