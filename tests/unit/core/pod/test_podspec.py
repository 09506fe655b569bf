"""The pod of a sandbox."""

from __future__ import annotations

import itertools
import json
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.core import examples
from toolcall_operator.core.pod import podspec
from toolcall_operator.core.pod.podspec import SandboxSettings

KEY = "ab" * 32
SETTINGS = SandboxSettings("registry/supervisor:1", "registry/default:1")
MOUNT = {"name": "skills", "mountPath": "/skills", "source": {"configMapRef": {"name": "skills-map"}}}


def pod(
    session: dict[str, Any] | None = None,
    settings: SandboxSettings = SETTINGS,
    **spec: Any,  # noqa: ANN401 (fields of a manifest)
) -> dict[str, Any]:
    """The pod of session `work` of a class with these fields."""
    of_class = examples.session_class(**spec).spec
    return podspec.pod(examples.session(**(session or {})), of_class, "work-pod", settings, KEY)


def sandbox(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    """The container in which calls run."""
    return container(pod(**spec), "sandbox")


def container(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    every = (*manifest["spec"]["initContainers"], *manifest["spec"]["containers"])
    return next(each for each in every if each["name"] == name)


def flags(manifest: dict[str, Any], flag: str) -> list[str]:
    """The values of a flag of `supervisor serve`."""
    command = container(manifest, "sandbox")["command"]
    return [value for name, value in itertools.pairwise(command) if name == flag]


@pytest.mark.parametrize(("restarts", "name"), ((0, "work-pod"), (1, "work-pod-2"), (9, "work-pod-10")))
def test_every_pod_of_a_session_has_a_name_of_its_own(restarts: int, name: str) -> None:
    assert podspec.pod_name("work", restarts) == name


def test_a_pod_belongs_to_its_session() -> None:
    metadata = pod()["metadata"]

    assert metadata == {
        "name": "work-pod",
        "namespace": "default",
        "labels": {
            "agentprimitives.authzed.com/session": "work",
            "agentprimitives.authzed.com/class": "plain",
        },
        "ownerReferences": [
            {
                "apiVersion": "agentprimitives.authzed.com/v1alpha1",
                "kind": "SpiceboxSession",
                "name": "work",
                "uid": "4f1c1a1e-0000-4000-8000-000000000002",
                "controller": True,
            }
        ],
    }


def test_a_pod_has_no_access_to_the_api_and_no_second_life() -> None:
    spec = pod()["spec"]

    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert spec["restartPolicy"] == "Never"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["securityContext"] == {
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "fsGroup": 1000,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"} & set(spec)


def test_no_container_is_allowed_more_than_tools_need() -> None:
    spec = pod(mounts=[{**MOUNT, "format": "tarGz"}])["spec"]
    containers = [*spec["initContainers"], *spec["containers"]]

    assert [each["name"] for each in containers] == ["install", "unpack", "sandbox"]
    for each in containers:
        assert each["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }
        assert each["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_the_supervisor_is_the_first_process_and_nothing_probes_it() -> None:
    found = sandbox()

    assert found["command"][:2] == ["/opt/toolcall/supervisor", "serve"]
    assert found["workingDir"] == "/workspace"
    assert not {"args", "readinessProbe", "livenessProbe", "startupProbe", "lifecycle"} & set(found)


def test_the_supervisor_is_installed_where_the_sandbox_can_only_read_it() -> None:
    manifest = pod()

    install = container(manifest, "install")
    assert (install["image"], install["args"]) == ("registry/supervisor:1", ["install", "/opt/toolcall"])
    assert install["volumeMounts"] == [{"name": "toolcall", "mountPath": "/opt/toolcall"}]
    mounts = container(manifest, "sandbox")["volumeMounts"]
    assert {"name": "toolcall", "mountPath": "/opt/toolcall", "readOnly": True} in mounts


def test_the_supervisor_is_told_what_it_cannot_find_out() -> None:
    settings = SandboxSettings(
        "s", "d", tasks=200, spool_bytes=1024, retention=timedelta(minutes=1), blocked=("10.0.0.1:443", "[fd00::1]:443")
    )

    manifest = pod(settings=settings)

    assert flags(manifest, "--key-sha256") == [KEY]
    assert flags(manifest, "--tasks") == ["200"]
    assert flags(manifest, "--spool-bytes") == ["1024"]
    assert flags(manifest, "--retention") == ["1m"]
    assert flags(manifest, "--blocked") == ["10.0.0.1:443", "[fd00::1]:443"]


@pytest.mark.parametrize(
    ("memory", "allowed", "told"),
    (
        pytest.param("1Gi", 1024, 1024, id="as many as the kubelet allows, with much memory"),
        pytest.param("64Mi", 1024, 256, id="one for each 256 KiB, with little"),
        pytest.param("8Mi", 1024, 128, id="never so few that calls have no room"),
        pytest.param("8Mi", 100, 100, id="and never more than the kubelet allows"),
    ),
)
def test_processes_and_threads_are_as_many_as_fit_into_the_memory(memory: str, allowed: int, told: int) -> None:
    resources = {**examples.RESOURCES, "memory": memory}

    manifest = pod(settings=SandboxSettings("s", "d", tasks=allowed), resources=resources)

    assert flags(manifest, "--tasks") == [str(told)]


def test_where_no_network_is_enforced_no_address_has_to_be_blocked() -> None:
    assert flags(pod(settings=SandboxSettings("s", "d", enforce_network=False)), "--blocked") == []


def test_the_metadata_of_clouds_has_to_be_blocked_unless_settings_say_otherwise() -> None:
    assert flags(pod(), "--blocked") == ["169.254.169.254:80"]


def test_tools_may_write_to_what_the_class_says() -> None:
    manifest = pod(
        privateVolumes=[{"name": "home", "mountPath": "/home/user/"}],
        writablePaths=["/data", "/home/user/a", "/workspace/b"],
    )

    assert flags(manifest, "--writable") == ["/var/ap-cache", "/home/user", "/data"]


def test_a_sandbox_has_the_image_of_its_class_or_the_default() -> None:
    assert sandbox(image="registry/tools:2")["image"] == "registry/tools:2"
    assert sandbox()["image"] == "registry/default:1"


def test_variables_of_the_class_arrive_as_they_are_written() -> None:
    env = sandbox(envDefaults={"GIT_DIR": "/workspace/.git", "PRICE": "$(HOME) $$5"})["env"]

    assert env == [
        {"name": "GIT_DIR", "value": "/workspace/.git"},
        {"name": "PRICE", "value": "$$(HOME) $$$$5"},  # Kubernetes makes one of two
    ]


def test_paths_of_the_class_are_no_variables_in_the_command() -> None:
    assert flags(pod(writablePaths=["/$(HOME)"]), "--writable") == ["/var/ap-cache", "/$$(HOME)"]


def test_a_pod_asks_for_little_and_may_use_what_its_class_says_and_the_sized_folders_besides() -> None:
    manifest = pod(
        resources={
            "cpu": "1500m",
            "memory": "1Gi",
            "ephemeralStorage": "1Gi",
            "tmpSize": "10Mi",
            "workSize": "20Mi",
            "cacheSize": "30Mi",
        },
        mounts=[{**MOUNT, "format": "tarGz"}, {**MOUNT, "name": "b", "mountPath": "/b", "format": "tarGz"}],
        settings=SandboxSettings("s", "d", spool_bytes=32 * 1024 * 1024),
    )

    for each in (*manifest["spec"]["initContainers"], *manifest["spec"]["containers"]):
        assert each["resources"]["requests"] == {"cpu": "10m", "memory": "32Mi", "ephemeral-storage": "32Mi"}
        disk = (
            # the class's, /tmp, its private parts, /work, cache, program, spool, archives
            f"{1024 + 10 + 10 + 20 + 30 + 64 + 36 + 2 * 64}Mi"
        )
        assert each["resources"]["limits"] == {"cpu": "1500m", "memory": "1Gi", "ephemeral-storage": disk}


def test_a_pod_asks_for_what_its_class_says() -> None:
    requests = {"cpu": "1", "memory": "512Mi", "ephemeralStorage": "100Mi"}

    found = sandbox(pod={"requests": requests})["resources"]["requests"]

    assert found == {"cpu": "1", "memory": "512Mi", "ephemeral-storage": "100Mi"}


def test_a_pod_never_asks_for_more_than_it_may_use() -> None:
    resources = {"cpu": "5m", "memory": "16Mi", "ephemeralStorage": "1Gi"}

    requests = sandbox(resources=resources)["resources"]["requests"]

    assert (requests["cpu"], requests["memory"]) == ("5m", "16Mi")


def test_the_platform_places_a_pod() -> None:
    affinity: dict[str, Any] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}
    }
    manifest = pod(
        runtimeClassName="gvisor",
        pod={
            "imagePullSecrets": [{"name": "registry"}],
            "imagePullPolicy": "Always",
            "nodeSelector": {"pool": "sandboxes"},
            "tolerations": [{"key": "sandboxes", "operator": "Exists", "effect": "NoSchedule"}],
            "affinity": affinity,
            "priorityClassName": "low",
            "labels": {"team": "a"},
            "annotations": {"note": "b"},
        },
    )

    spec = manifest["spec"]
    assert spec["runtimeClassName"] == "gvisor"
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["nodeSelector"] == {"pool": "sandboxes"}
    assert spec["tolerations"] == [{"key": "sandboxes", "operator": "Exists", "effect": "NoSchedule"}]
    assert spec["affinity"] == affinity
    assert spec["priorityClassName"] == "low"
    assert container(manifest, "sandbox")["imagePullPolicy"] == "Always"
    assert "imagePullPolicy" not in container(manifest, "install")  # which is not the class's image
    assert manifest["metadata"]["labels"]["team"] == "a"
    assert manifest["metadata"]["annotations"] == {"note": "b"}


def test_what_the_platform_does_not_say_is_not_in_the_pod() -> None:
    assert set(pod()["spec"]) == {
        "automountServiceAccountToken",
        "enableServiceLinks",
        "restartPolicy",
        "terminationGracePeriodSeconds",
        "securityContext",
        "initContainers",
        "containers",
        "volumes",
    }


def test_labels_of_the_operator_cannot_be_taken_over() -> None:
    labels = pod(pod={"labels": {podspec.SESSION_LABEL: "other", podspec.CLASS_LABEL: "other"}})["metadata"]["labels"]

    assert labels == {podspec.SESSION_LABEL: "work", podspec.CLASS_LABEL: "plain"}


def test_archives_of_class_and_session_are_unpacked_by_one_container() -> None:
    digest = f"sha256:{'0' * 64}"
    archive = {**MOUNT, "format": "tarGz"}
    manifest = pod(
        mounts=[{**archive, "digest": digest}],
        session={"mounts": [{**archive, "mountPath": "/more"}, {**MOUNT, "name": "raw", "mountPath": "/raw"}]},
    )

    unpack = container(manifest, "unpack")
    assert unpack["image"] == "registry/supervisor:1"
    assert unpack["args"] == [
        *("unpack", "--bytes", "67108864"),
        *("/archives/0-skills/bundle.tar.gz", digest, "/unpacked/0"),
        *("/archives/1-skills/bundle.tar.gz", "-", "/unpacked/1"),
    ]
    assert unpack["volumeMounts"] == [
        {"name": "mount-0", "mountPath": "/archives/0-skills", "readOnly": True},
        {"name": "mount-1", "mountPath": "/archives/1-skills", "readOnly": True},
        {"name": "unpacked", "mountPath": "/unpacked"},
    ]


def test_without_archives_nothing_is_unpacked() -> None:
    assert [each["name"] for each in pod(mounts=[MOUNT])["spec"]["initContainers"]] == ["install"]


def test_a_pod_is_plain_json() -> None:
    manifest = pod(
        envDefaults={"A": "b"}, mounts=[MOUNT], pod={"affinity": {"podAffinity": {}}, "nodeSelector": {"a": "b"}}
    )

    assert json.loads(json.dumps(manifest)) == manifest
