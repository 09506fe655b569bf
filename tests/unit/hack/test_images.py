"""An image is what its folder holds, in the layout that container engines read, and the same wherever it is made."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from hack.cluster import images
from hack.cluster.images import Image


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A root with a program that nobody can read, a link and an empty folder."""
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    (root / "tmp").mkdir()
    (root / "bin" / "program").write_text("it runs")
    (root / "bin" / "program").chmod(0o111)
    (root / "bin" / "alias").symlink_to("program")
    return root


def written(image: Image, archive: Path) -> dict[str, bytes]:
    """The files of an image's archive."""
    images.write(image, archive)
    with tarfile.open(archive) as tar:
        return {entry.name: tar.extractfile(entry).read() for entry in tar}  # type: ignore[union-attr] # all are files


def follow(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    """The blob that a descriptor means, after a look at whether it says the truth of it."""
    blob = files[f"blobs/{descriptor['digest'].replace(':', '/')}"]
    assert descriptor["size"] == len(blob)
    assert descriptor["digest"] == f"sha256:{hashlib.sha256(blob).hexdigest()}"
    return blob


def test_the_layout_leads_from_the_index_to_the_files(folder: Path, tmp_path: Path) -> None:
    files = written(Image("example.test/a:b", folder, {"Entrypoint": ["/bin/program"]}), tmp_path / "image.tar")

    entry = json.loads(files["index.json"])["manifests"][0]
    manifest = json.loads(follow(files, entry))
    config = json.loads(follow(files, manifest["config"]))
    layer = follow(files, manifest["layers"][0])
    assert entry["annotations"]["io.containerd.image.name"] == "example.test/a:b"
    assert config["config"] == {"Entrypoint": ["/bin/program"]}
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        entries = {entry.name: entry for entry in tar}
    assert sorted(entries) == ["bin", "bin/alias", "bin/program", "tmp"]
    assert entries["bin/program"].mode == 0o111
    assert entries["bin/alias"].linkname == "program"
    assert {entry.uid for entry in entries.values()} == {0}


def test_an_alias_is_another_name_of_the_same_image(folder: Path, tmp_path: Path) -> None:
    image = Image("example.test/a:b", folder, aliases=["docker.io/library/a:stable"])

    first, second = json.loads(written(image, tmp_path / "image.tar")["index.json"])["manifests"]

    assert first["digest"] == second["digest"]
    assert second["annotations"]["io.containerd.image.name"] == "docker.io/library/a:stable"


def test_the_time_of_a_file_makes_no_other_image(folder: Path, tmp_path: Path) -> None:
    image = Image("example.test/a:b", folder)

    first = written(image, tmp_path / "first.tar")
    os.utime(folder / "bin" / "program", (1, 1))

    assert written(image, tmp_path / "second.tar") == first


def test_the_mode_of_a_file_makes_another_image(folder: Path, tmp_path: Path) -> None:
    image = Image("example.test/a:b", folder)

    first = written(image, tmp_path / "first.tar")
    (folder / "bin" / "program").chmod(0o755)

    assert written(image, tmp_path / "second.tar") != first
