"""The volumes of a sandbox's pod."""

from __future__ import annotations

from typing import Any

from tests.unit.core import examples
from toolcall_operator.api.sandbox import Mount
from toolcall_operator.core.pod import podvolumes
from toolcall_operator.core.pod.podvolumes import Volume

MiB = 1024 * 1024
SKILLS = {"name": "skills", "mountPath": "/skills", "source": {"configMapRef": {"name": "skills-map"}}}


def volumes(*mounts: dict[str, Any], **spec: Any) -> tuple[Volume, ...]:  # noqa: ANN401 (fields of a manifest)
    """The volumes of a class with these fields, and a session with these mounts."""
    parsed = [Mount.model_validate(mount) for mount in mounts]
    return podvolumes.volumes(examples.session_class(**spec).spec, parsed, spool_bytes=8 * MiB)


def test_every_sandbox_has_its_folders_on_disk_and_each_has_a_bound() -> None:
    resources = {**examples.RESOURCES, "tmpSize": "10Mi", "workSize": "20Mi", "cacheSize": "30Mi"}

    found = volumes(resources=resources)

    assert {mount["mountPath"]: mount for mount in podvolumes.mounts(found)} == {
        "/opt/toolcall": {"name": "toolcall", "mountPath": "/opt/toolcall", "readOnly": True},
        "/run/toolcall": {"name": "spool", "mountPath": "/run/toolcall"},
        "/workspace": {"name": "workspace", "mountPath": "/workspace"},
        "/work": {"name": "work", "mountPath": "/work"},
        "/tmp": {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 (in the sandbox)
        "/work/private": {"name": "private", "mountPath": "/work/private"},
        "/var/ap-cache": {"name": "cache", "mountPath": "/var/ap-cache"},
    }
    assert podvolumes.manifests(found) == [
        {"name": "toolcall", "emptyDir": {"sizeLimit": "64Mi"}},
        {"name": "spool", "emptyDir": {"sizeLimit": "9Mi"}},
        {"name": "workspace", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "work", "emptyDir": {"sizeLimit": "20Mi"}},
        {"name": "tmp", "emptyDir": {"sizeLimit": "10Mi"}},
        {"name": "private", "emptyDir": {"sizeLimit": "10Mi"}},
        {"name": "cache", "emptyDir": {"sizeLimit": "30Mi"}},
    ]


def test_a_cache_without_size_is_none() -> None:
    found = volumes(resources={**examples.RESOURCES, "cacheSize": "0"})

    assert "cache" not in {volume.name for volume in found}


def test_a_raw_mount_is_its_config_map_readable_by_everybody_and_writable_by_nobody() -> None:
    found = volumes(mounts=[SKILLS])

    assert found[-1].manifest() == {"name": "mount-0", "configMap": {"name": "skills-map", "defaultMode": 0o444}}
    assert found[-1].mount() == {"name": "mount-0", "mountPath": "/skills", "readOnly": True}


def test_an_archive_is_seen_unpacked_and_its_config_map_is_not_seen() -> None:
    found = volumes({**SKILLS, "format": "tarGz", "mountPath": "/more"}, mounts=[{**SKILLS, "format": "tarGz"}])

    mounts = [mount for mount in podvolumes.mounts(found) if mount["name"] not in {"toolcall", "spool"}]
    assert [mount for mount in mounts if "readOnly" in mount] == [
        {"name": "unpacked", "mountPath": "/skills", "readOnly": True, "subPath": "0"},
        {"name": "unpacked", "mountPath": "/more", "readOnly": True, "subPath": "1"},
    ]
    manifests = podvolumes.manifests(found)
    assert [each for each in manifests if each["name"] == "unpacked"] == [
        {"name": "unpacked", "emptyDir": {"sizeLimit": "128Mi"}}
    ]
    assert {"mount-0", "mount-1"} < {each["name"] for each in manifests}


def test_an_archive_is_found_under_the_name_of_its_mount_which_is_cut_so_that_both_digests_fit_into_a_message() -> None:
    mount = Mount.model_validate({**SKILLS, "name": "a" * 63, "format": "tarGz", "digest": f"sha256:{'0' * 64}"})

    (archive,) = podvolumes.archives(examples.session_class().spec, [mount])

    file, digest, folder = archive.words
    assert file == f"/archives/0-{'a' * 16}/bundle.tar.gz"
    assert len(f"supervisor: unpack {file} to {folder}: its digest is {digest}, and not {digest}") < 250


def test_private_volumes_and_writable_paths_are_volumes_of_their_own() -> None:
    spec: dict[str, Any] = {
        "privateVolumes": [{"name": "a", "mountPath": "/a/"}],
        "writablePaths": ["/b", "/workspace/c", "/a/d", "/work/out/e", "/b/", "/b/c", "/workspace"],
    }

    found = [volume for volume in volumes(**spec) if volume.path in {"/a", "/b"}]

    assert [(volume.name, volume.path) for volume in found] == [("private-0", "/a"), ("writable-0", "/b")]
    assert [volume.manifest()["emptyDir"] for volume in found] == [{"sizeLimit": "1Gi"}, {"sizeLimit": "1Gi"}]


def test_names_of_volumes_are_unique_whatever_class_and_session_call_theirs() -> None:
    found = volumes(
        {**SKILLS, "mountPath": "/more"},
        mounts=[SKILLS],
        privateVolumes=[{"name": "skills", "mountPath": "/a"}, {"name": "tmp", "mountPath": "/b"}],
    )

    names = [volume.name for volume in found]
    assert len(names) == len(set(names))
