"""What a cluster is given of this checkout: the supervisor once for each content, and the kinds every time."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from hack.cluster import kubectl, project, theirs
from hack.cluster.say import Impossible

ROOT = Path(__file__).resolve().parents[3]


class Cluster:
    """A cluster that remembers what it was given."""

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.images: list[list[str]] = []

    def run(self, _kubeconfig: Path, *arguments: str) -> None:
        self.commands.append(arguments[0])

    def load(self, archive: Path) -> None:
        with tarfile.open(archive) as tar:
            index = json.load(tar.extractfile("index.json"))  # type: ignore[arg-type] # it is a file
        self.images.append([entry["annotations"]["io.containerd.image.name"] for entry in index["manifests"]])


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster, and a supervisor that is built already."""
    cluster = Cluster()
    (tmp_path / "supervisor").write_text("first")
    monkeypatch.setattr(kubectl, "run", cluster.run)
    monkeypatch.setattr(kubectl, "complaint", lambda _: "")
    monkeypatch.setattr(project, "build", lambda: None)
    monkeypatch.setattr(project, "PROGRAM", tmp_path / "supervisor")
    monkeypatch.setattr(project, "LOADED", tmp_path / "loaded")
    return cluster


def test_the_supervisor_is_loaded_when_it_is_new_and_when_it_changed(cluster: Cluster) -> None:
    for content in ("first", "first", "second", "second"):
        project.PROGRAM.write_text(content)
        project.bring(cluster.load)

    assert cluster.images == [["toolcall.local/supervisor:local"]] * 2


def test_a_supervisor_that_could_not_be_loaded_is_loaded_the_next_time(cluster: Cluster) -> None:
    def full(_archive: Path) -> None:
        raise Impossible("the disk is full")

    with pytest.raises(Impossible):
        project.bring(full)
    project.bring(cluster.load)

    assert cluster.images == [["toolcall.local/supervisor:local"]]


def test_the_kinds_are_brought_every_time(cluster: Cluster) -> None:
    for _ in range(2):
        project.bring(cluster.load)

    assert cluster.commands == ["apply", "wait"] * 2


def test_a_cluster_of_the_users_own_is_given_the_supervisor_by_the_command_they_name(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUSTER_LOAD", f"sh -c 'cp \"$0\" {tmp_path}/given.tar'")

    theirs.up("/theirs")

    cluster.load(tmp_path / "given.tar")
    assert cluster.images == [["toolcall.local/supervisor:local"]]
    assert cluster.commands == []


def test_without_that_command_nothing_is_loaded_and_what_to_do_is_said(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CLUSTER_LOAD", raising=False)

    theirs.up("/theirs")

    said = capsys.readouterr().err
    assert "toolcall.local/supervisor:local" in said
    assert "CLUSTER_LOAD" in said
    assert cluster.commands == []


def test_the_dockerfile_builds_what_is_built_here_with_the_go_that_is_asked_for() -> None:
    dockerfile = (ROOT / "operator" / "supervisor" / "Dockerfile").read_text()
    version = (ROOT / "operator" / "supervisor" / "go.mod").read_text().split("\ngo ")[1].split("\n")[0]

    assert f"FROM golang:{version.rpartition('.')[0]} AS build" in dockerfile
    for flag in ("CGO_ENABLED=0", "-trimpath", "-buildvcs=false", "-s -w"):
        assert flag in dockerfile
        assert flag in (ROOT / "hack" / "build").read_text()
