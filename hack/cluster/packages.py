"""The Debian packages that a node needs."""

import os
import shutil
import subprocess

from hack.cluster.say import Impossible, say

NEEDED = (
    "busybox-static",
    "containerd",
    "containernetworking-plugins",
    "iproute2",
    "ipset",
    "iptables",
    "nftables",
    "openssl",
    "runc",
    "util-linux",
)


def is_installed(package: str) -> bool:
    """Whether dpkg has a package."""
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
    return subprocess.run(query, capture_output=True, text=True, check=False).stdout == "installed"


def install() -> None:
    """Install what is missing.

    Raises:
        Impossible: when apt-get cannot do so without removing something.
    """
    missing = [package for package in NEEDED if not is_installed(package)]
    if not missing:
        return
    say(f"installing with apt-get: {' '.join(missing)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", "--no-remove", *missing]):
        done = subprocess.run(
            ["apt-get", "--quiet", *command], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Impossible(f"`apt-get {' '.join(command)}` failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def can_install() -> bool:
    """Whether this machine has Debian's tools for packages."""
    return all(shutil.which(tool) for tool in ("apt-get", "dpkg-query"))
