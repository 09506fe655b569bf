"""The certificates of the local cluster, and the kubeconfigs that show them; made anew for each cluster."""

import base64
import json
import subprocess
from pathlib import Path

from hack.cluster import layout

USERS = {
    "admin": "/O=system:masters/CN=admin",
    "kube-controller-manager": "/CN=system:kube-controller-manager",
    "kube-proxy": "/CN=system:kube-proxy",
    "kube-router": "/O=system:masters/CN=kube-router",
    "kube-scheduler": "/CN=system:kube-scheduler",
    "kubelet": "/O=system:nodes/CN=system:node:node",
}
"""Who calls the API server, and the names under which it knows them."""

NAMES = (
    *(f"DNS:{name}" for name in ("localhost", "node", "kubernetes", "kubernetes.default", "kubernetes.default.svc")),
    *(f"IP:{address}" for address in ("127.0.0.1", layout.NODE, layout.API_SERVICE)),
)
"""The names under which the servers are called."""

CONFIG = "[req]\ndistinguished_name = name\n[name]\n"
"""Nothing: openssl's own file adds extensions that contradict ours."""


def openssl(folder: Path, *arguments: str) -> None:
    """Run openssl in `folder`."""
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def certificate(folder: Path, name: str, subject: str, *flags: str) -> None:
    """Write NAME.crt and NAME.key."""
    openssl(
        folder,
        *("req", "-x509", "-config", "openssl.cnf", "-days", "3650", "-noenc"),
        *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
        *("-subj", subject, "-keyout", f"{name}.key", "-out", f"{name}.crt", *flags),
    )


def signed(folder: Path, name: str, subject: str, *extensions: str) -> None:
    """Write NAME.crt and NAME.key, signed by the CA of the folder."""
    flags = [flag for extension in extensions for flag in ("-addext", extension)]
    certificate(folder, name, subject, "-CA", "ca.crt", "-CAkey", "ca.key", *flags)


def write(folder: Path) -> None:
    """Write every key and certificate."""
    folder.mkdir(mode=0o700)
    (folder / "openssl.cnf").write_text(CONFIG, encoding="ascii")
    certificate(folder, "ca", "/CN=toolcall-cluster", "-addext", "basicConstraints=critical,CA:TRUE")
    signed(folder, "serving", "/CN=node", f"subjectAltName={','.join(NAMES)}", "extendedKeyUsage=serverAuth")
    for user, subject in USERS.items():
        signed(folder, user, subject, "extendedKeyUsage=clientAuth")
    certificate(folder, "serviceaccounts", "/CN=serviceaccounts")  # its key signs tokens; it shows the public half


def write_kubeconfig(file: Path, user: str, server: str) -> None:
    """Write a kubeconfig, readable by its owner alone, that holds all it needs; as JSON, which is YAML."""

    def data(name: str) -> str:
        return base64.b64encode((layout.STATE / "pki" / name).read_bytes()).decode()

    cluster = {"server": f"https://{server}:6443", "certificate-authority-data": data("ca.crt")}
    credentials = {"client-certificate-data": data(f"{user}.crt"), "client-key-data": data(f"{user}.key")}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "toolcall", "cluster": cluster}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": "toolcall", "context": {"cluster": "toolcall", "user": user}}],
        "current-context": "toolcall",
    }
    file.touch(mode=0o600)
    file.write_text(json.dumps(config, indent=1), encoding="ascii")
