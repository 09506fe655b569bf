"""Container images from folders, as tar files in the OCI image layout: no registry, no daemon."""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MEDIA = "application/vnd.oci.image"


@dataclass(frozen=True, slots=True)
class Image:
    """What an image is made of."""

    name: str
    """With registry and tag, though no registry is asked: `toolcall.local/busybox:local`."""
    folder: Path
    """Its root; modes are kept, owners become root, times are forgotten."""
    config: Mapping[str, object] = field(default_factory=dict)
    """Entrypoint, Cmd, Env, User, WorkingDir, as the OCI image configuration spells them."""
    aliases: Sequence[str] = ()
    """Other names of it."""


def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """The entry without what differs from machine to machine, so that the same folder is the same image."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def layer(folder: Path) -> bytes:
    """The tar of a folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            tar.add(path, str(path.relative_to(folder)), recursive=False, filter=anonymous)
    return buffer.getvalue()


def document(value: object) -> bytes:
    """A value as the JSON that is stored."""
    return json.dumps(value, sort_keys=True).encode()


def digest(blob: bytes) -> str:
    """The name of a blob in a layout."""
    return hashlib.sha256(blob).hexdigest()


def descriptor(kind: str, blob: bytes) -> dict[str, object]:
    """How a document of a layout refers to a blob."""
    return {"mediaType": f"{MEDIA}.{kind}", "digest": f"sha256:{digest(blob)}", "size": len(blob)}


def named(name: str) -> dict[str, object]:
    """What gives a manifest its name; containerd looks at the first of the two."""
    return {"annotations": {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}}


def write(image: Image, archive: Path) -> None:
    """Write an image to `archive`."""
    content = layer(image.folder)
    config = document(
        {
            "os": "linux",
            "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()],
            "config": image.config,
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest(content)}"]},
        }
    )
    manifest = document(
        {
            "schemaVersion": 2,
            "mediaType": f"{MEDIA}.manifest.v1+json",
            "config": descriptor("config.v1+json", config),
            "layers": [descriptor("layer.v1.tar", content)],
        }
    )
    entries = [descriptor("manifest.v1+json", manifest) | named(name) for name in (image.name, *image.aliases)]
    index = document({"schemaVersion": 2, "manifests": entries})
    files = {f"blobs/sha256/{digest(blob)}": blob for blob in (content, config, manifest)}
    files |= {"index.json": index, "oci-layout": document({"imageLayoutVersion": "1.0.0"})}
    with tarfile.open(archive, "w") as tar:
        for name, blob in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(blob)
            tar.addfile(entry, io.BytesIO(blob))
