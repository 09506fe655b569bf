"""Where a class and a session may put volumes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core import examples
from toolcall_operator.api.sandbox import Mount
from toolcall_operator.core.pod import folders


def mount(path: str, name: str = "m") -> dict[str, Any]:
    return {"name": name, "mountPath": path, "source": {"configMapRef": {"name": "m"}}}


def session_mounts(*paths: str, **spec: Any) -> list[str]:  # noqa: ANN401 (fields of a manifest)
    parsed = [Mount.model_validate(mount(path, f"s{index}")) for index, path in enumerate(paths)]
    return list(folders.of_session_mounts(parsed, examples.session_class(**spec).spec))


def objections(**spec: Any) -> list[str]:  # noqa: ANN401 (fields of a manifest)
    found = examples.session_class(**spec).spec
    return [
        *folders.of_class_mounts(found),
        *folders.of_private_volumes(found),
        *folders.of_writable_paths(found),
    ]


def test_folders_beside_each_other_are_fine() -> None:
    assert not objections(
        mounts=[mount("/skills", "a"), mount("/etc/tool/", "b"), mount("/usr/share/tool", "c")],
        privateVolumes=[{"name": "home", "mountPath": "/home/user"}, {"name": "more", "mountPath": "/skillset"}],
        writablePaths=["/data", "/home/user/.cache", "/tmp/x", "/workspace", "/work/out/y", "/var/ap-cache/z"],  # noqa: S108 (in the sandbox)
    )


@pytest.mark.parametrize(
    ("path", "taken"),
    (
        ("/workspace", "/workspace"),
        ("/workspace/", "/workspace"),
        ("/workspace/skills", "/workspace"),
        ("/work", "/work"),
        ("/work/in", "/work"),
        ("/tmp/a", "/tmp"),  # noqa: S108 (in the sandbox)
        ("/opt", "/opt/toolcall"),
        ("/opt/toolcall", "/opt/toolcall"),
        ("/run/toolcall/x", "/run/toolcall"),
        ("/var", "/var/ap-cache"),
        ("/proc/sys", "/proc"),
        ("/sys", "/sys"),
        ("/dev/shm/x", "/dev"),  # noqa: S108 (in the sandbox)
        ("/etc", "/etc/hosts"),
    ),
)
def test_no_volume_hides_what_a_sandbox_needs(path: str, taken: str) -> None:
    words = f"must not be, hold or lie in {taken}, which is not for volumes"

    assert objections(mounts=[mount(path)]) == [f"spec.mounts[m].mountPath {path} {words}"]
    assert objections(privateVolumes=[{"name": "p", "mountPath": path}]) == [
        f"spec.privateVolumes[p].mountPath {path} {words}"
    ]


@pytest.mark.parametrize("path", ("/work", "/work/in", "/opt", "/dev", "/run/toolcall"))
def test_nothing_of_the_supervisors_is_made_writable(path: str) -> None:
    assert len(objections(writablePaths=[path])) == 1


@pytest.mark.parametrize("path", ("/run/secrets", "/var/run/x"))
def test_no_mount_is_where_tools_cannot_read(path: str) -> None:
    assert len(objections(mounts=[mount(path)])) == 1
    assert not objections(privateVolumes=[{"name": "p", "mountPath": path}])


@pytest.mark.parametrize("path", ("/", "//", "/a//b", "/a/../b", "/a/.", "/a:b", "/a\nb"))
def test_a_path_that_could_be_read_in_two_ways_is_refused(path: str) -> None:
    assert len(objections(mounts=[mount(path)])) == 1
    assert len(objections(privateVolumes=[{"name": "p", "mountPath": path}])) == 1
    assert len(objections(writablePaths=[path])) == 1


def test_volumes_do_not_lie_in_one_another() -> None:
    spec: dict[str, Any] = {
        "mounts": [mount("/a", "one"), mount("/a/b", "two")],
        "privateVolumes": [{"name": "p", "mountPath": "/a"}, {"name": "q", "mountPath": "/p"}],
        "writablePaths": ["/a-w", "/w"],
    }

    assert objections(**spec) == [
        "spec.mounts[two].mountPath /a/b must not be, hold or lie in the folder of spec.mounts[one].mountPath /a",
        "spec.privateVolumes[p].mountPath /a must not be, hold or lie in the folder of spec.mounts[one].mountPath /a",
    ]


def test_a_writable_path_is_not_in_or_around_another_volume() -> None:
    spec: dict[str, Any] = {
        "mounts": [mount("/a", "one")],
        "privateVolumes": [{"name": "p", "mountPath": "/p/q"}],
        "writablePaths": ["/a/w", "/p"],
    }

    assert objections(**spec) == [
        "spec.writablePaths /a/w must not be, hold or lie in the folder of spec.mounts[one].mountPath /a",
        "spec.writablePaths /p must not be, hold or lie in the folder of spec.privateVolumes[p].mountPath /p/q",
    ]


def test_mounts_of_a_session_go_beside_those_of_its_class() -> None:
    of_class: dict[str, Any] = {
        "mounts": [mount("/skills", "a")],
        "privateVolumes": [{"name": "home", "mountPath": "/home/user"}],
        "writablePaths": ["/data"],
    }

    assert not session_mounts("/more", "/etc/tool", **of_class)
    words = "must not be, hold or lie in the folder of"
    assert session_mounts("/skills/x", "/home", "/data", "/more", "/more", **of_class) == [
        f"spec.mounts[s0].mountPath /skills/x {words} SpiceboxClass spec.mounts[a].mountPath /skills",
        f"spec.mounts[s1].mountPath /home {words} SpiceboxClass spec.privateVolumes[home].mountPath /home/user",
        f"spec.mounts[s2].mountPath /data {words} SpiceboxClass writable path /data",
        f"spec.mounts[s4].mountPath /more {words} spec.mounts[s3].mountPath /more",
    ]


@pytest.mark.parametrize(
    "path", ("/usr/local/bin", "/bin", "/lib/x", "/usr", "/workspace/x", "/opt/toolcall", "/run/x")
)
def test_a_session_puts_no_programs_of_its_own_in_the_place_of_the_images(path: str) -> None:
    assert len(session_mounts(path)) == 1


def test_a_message_about_a_path_without_end_still_says_what_is_wrong() -> None:
    (found,) = objections(mounts=[mount("/work/" + "x" * 4_000)])

    assert found.endswith("which is not for volumes")
    assert len(found) < 400
