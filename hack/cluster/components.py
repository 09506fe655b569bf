"""The components of a node and its control plane: what is started, in which order, and how each shows that it works."""

from dataclasses import dataclass

from hack.cluster import layout

PKI = f"{layout.HOME}/pki"
ETC = f"{layout.HOME}/etc"


@dataclass(frozen=True, slots=True)
class Component:
    """One program that runs as long as the cluster does."""

    name: str
    command: list[str]
    """Programs without a path are the system's; ours stand below `programs`."""
    health: str
    """A URL that answers 200, or the path of a socket that accepts."""

    @property
    def log(self) -> str:
        """Its log, as the node sees it."""
        return f"{layout.HOME}/log/{self.name}.log"


def ours(name: str, health: str, *flags: str) -> Component:
    """A component from a program that was built here."""
    return Component(name, [f"{layout.HOME}/programs/{name}", *flags], health)


def serving(name: str) -> list[str]:
    """The flags by which a server of the control plane shows a certificate that the cluster's CA signed."""
    return [f"--{name}cert-file={PKI}/serving.crt", f"--{name}private-key-file={PKI}/serving.key"]


def client_of_apiserver(name: str) -> list[str]:
    """The flags by which a component of the control plane finds the API server and lets its callers be judged by it."""
    return [f"--{flag}kubeconfig={ETC}/{name}.kubeconfig" for flag in ("", "authentication-", "authorization-")]


ETCD = ours(
    "etcd",
    "http://127.0.0.1:2379/health",
    f"--data-dir={layout.HOME}/etcd",
    "--listen-client-urls=http://127.0.0.1:2379",
    "--advertise-client-urls=http://127.0.0.1:2379",
    "--listen-peer-urls=http://127.0.0.1:2380",
    "--unsafe-no-fsync",  # the cluster does not outlive its machine anyway
)

CONTAINERD = Component(
    "containerd", ["containerd", f"--config={ETC}/containerd.toml"], "/run/containerd/containerd.sock"
)

APISERVER = ours(
    "kube-apiserver",
    "https://127.0.0.1:6443/readyz",
    "--etcd-servers=http://127.0.0.1:2379",
    f"--advertise-address={layout.NODE}",
    f"--service-cluster-ip-range={layout.SERVICES}",
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--allow-privileged",
    f"--client-ca-file={PKI}/ca.crt",
    *serving("tls-"),
    "--kubelet-preferred-address-types=InternalIP",
    f"--kubelet-certificate-authority={PKI}/ca.crt",
    f"--kubelet-client-certificate={PKI}/admin.crt",
    f"--kubelet-client-key={PKI}/admin.key",
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    f"--service-account-key-file={PKI}/serviceaccounts.crt",
    f"--service-account-signing-key-file={PKI}/serviceaccounts.key",
    f"--audit-policy-file={ETC}/audit.yaml",
    f"--audit-log-path={layout.HOME}/log/audit.log",
    "--audit-log-maxsize=2048",
)

CONTROLLER_MANAGER = ours(
    "kube-controller-manager",
    "https://127.0.0.1:10257/healthz",
    *client_of_apiserver("kube-controller-manager"),
    *serving("tls-"),
    "--leader-elect=false",
    "--use-service-account-credentials",
    f"--root-ca-file={PKI}/ca.crt",
    f"--service-account-private-key-file={PKI}/serviceaccounts.key",
)

SCHEDULER = ours(
    "kube-scheduler",
    "https://127.0.0.1:10259/healthz",
    *client_of_apiserver("kube-scheduler"),
    *serving("tls-"),
    "--leader-elect=false",
)

# It works when it has registered its node, without which kube-router ends.
KUBELET = ours(
    "kubelet",
    "https://127.0.0.1:6443/api/v1/nodes/node",
    f"--config={ETC}/kubelet.yaml",
    f"--kubeconfig={ETC}/kubelet.kubeconfig",
    f"--root-dir={layout.HOME}/kubelet",
    f"--node-ip={layout.NODE}",
)

PROXY = ours("kube-proxy", "http://127.0.0.1:10256/healthz", f"--config={ETC}/kube-proxy.yaml")

# Only its firewall: it enforces NetworkPolicy. Routes and Services have their own components.
ROUTER = ours(
    "kube-router",
    "http://127.0.0.1:20244/healthz",
    f"--kubeconfig={ETC}/kube-router.kubeconfig",
    "--run-firewall=true",
    "--run-router=false",
    "--run-service-proxy=false",
    "--run-loadbalancer=false",
    "--enable-cni=false",
    f"--service-cluster-ip-range={layout.SERVICES}",
)

STAGES = (
    (ETCD, CONTAINERD),
    (APISERVER,),
    (CONTROLLER_MANAGER, SCHEDULER, KUBELET, PROXY),
    (ROUTER,),
)
"""The components of a stage start together, when those of the stage before it are healthy."""

PROGRAMS = {
    "kubernetes": (
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kubelet",
        "kube-proxy",
    ),
    "kube-router": ("kube-router",),
}
"""What is built from the Go modules below programs/, and the names by which it is called."""
