"""Whether sessions can be made of a class."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core import examples
from tests.unit.core.policy.loading import policies
from toolcall_operator.api.sandbox import Mount
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.core import classes
from toolcall_operator.core.classes import ClassReason, Judgement
from toolcall_operator.core.policy.loading.library import Library

IMAGE = "registry/tools:1"
MOUNT = {"name": "m", "mountPath": "/m", "source": {"configMapRef": {"name": "m"}}}
DIGEST = f"sha256:{'0' * 64}"


def judged(**spec: Any) -> Judgement:  # noqa: ANN401 (fields of a manifest)
    """The judgement of a class with these fields."""
    return classes.judged(examples.session_class(**{"image": IMAGE, **spec}))


def test_an_ordinary_class_is_valid() -> None:
    assert judged()[:3] == (True, ClassReason.VALID, "sessions can be made of it")


def test_a_class_that_cannot_be_read_is_not_valid() -> None:
    assert classes.unread("spec.image must be text") == (
        False,
        ClassReason.MALFORMED_OBJECT,
        "spec.image must be text",
        None,
    )


def test_everything_that_a_pod_can_be_made_of_is_valid() -> None:
    found = judged(
        runtimeClassName="gvisor",
        network={"mode": "allowlist"},
        envDefaults={"GIT_DIR": "/workspace/.git", "PATH": "/bin", "TMPDIR": "/tmp/x"},  # noqa: S108 (in the sandbox)
        mounts=[MOUNT, {**MOUNT, "name": "a", "mountPath": "/a", "format": "tarGz", "digest": DIGEST}],
        privateVolumes=[{"name": "p", "mountPath": "/p"}],
        writablePaths=["/w"],
        sandbox={"kind": "pod", "warmPool": {"replicas": 0}},
        allowedNamespaces={"matchLabels": {"team": "a"}},
        pod={"labels": {"team": "a"}, "annotations": {"a": "b"}, "requests": {"cpu": "1"}, "nodeSelector": {"a": "b"}},
    )

    assert found.valid, found


@pytest.mark.parametrize("image", ("", " "))
def test_a_blank_image_is_refused_whatever_the_operator_has(image: str) -> None:
    found = classes.judged(examples.session_class(image=image), IMAGE)

    assert (found.valid, found.reason) == (False, ClassReason.INVALID_IMAGE)
    assert found.message.startswith("spec.image is blank")


def test_no_image_is_fine_where_the_operator_has_one() -> None:
    assert classes.judged(examples.session_class(), IMAGE).valid
    assert classes.judged(examples.session_class()).reason is ClassReason.INVALID_IMAGE


@pytest.mark.parametrize(
    ("spec", "reason", "field"),
    (
        ({"tools": []}, ClassReason.INVALID_TOOL, "spec.tools is empty"),
        ({"envDefaults": {"GITHUB_TOKEN": ""}}, ClassReason.INVALID_ENV_DEFAULTS, "spec.envDefaults.GITHUB_TOKEN"),
        ({"envDefaults": {"A-B": ""}}, ClassReason.INVALID_ENV_DEFAULTS, "spec.envDefaults.A-B"),
        ({"envDefaults": {"KUBERNETES_A": ""}}, ClassReason.INVALID_ENV_DEFAULTS, "spec.envDefaults.KUBERNETES_A"),
        ({"envDefaults": {"TOOLCALL_A": ""}}, ClassReason.INVALID_ENV_DEFAULTS, "spec.envDefaults.TOOLCALL_A"),
        ({"mounts": [{**MOUNT, "mountPath": "/work"}]}, ClassReason.INVALID_MOUNTS, "spec.mounts[m].mountPath"),
        (
            {"privateVolumes": [{"name": "p", "mountPath": "/tmp"}]},  # noqa: S108 (in the sandbox)
            ClassReason.INVALID_PRIVATE_VOLUMES,
            "spec.privateVolumes[p].mountPath",
        ),
        ({"writablePaths": ["/proc"]}, ClassReason.INVALID_WRITABLE_PATHS, "spec.writablePaths /proc"),
        (
            {"pod": {"labels": {"agentprimitives.authzed.com/session": "a"}}},
            ClassReason.INVALID_SANDBOX,
            'spec.pod.labels["agentprimitives.authzed.com/session"]',
        ),
        (
            {"pod": {"annotations": {"agentprimitives.authzed.com/a": "a"}}},
            ClassReason.INVALID_SANDBOX,
            'spec.pod.annotations["agentprimitives.authzed.com/a"]',
        ),
        (
            {"sandbox": {"warmPool": {"replicas": 3}}},
            ClassReason.INVALID_WARM_POOL,
            "spec.sandbox.warmPool.namespaces is empty",
        ),
        (
            {"sandbox": {"warmPool": {"replicas": 3, "namespaces": ["a"]}}},
            ClassReason.NOT_SUPPORTED,
            "spec.sandbox.warmPool.replicas",
        ),
        (
            {"network": {"mode": "allowlist", "allowedHosts": ["example.com"]}},
            ClassReason.NOT_SUPPORTED,
            "spec.network.allowedHosts",
        ),
        ({"sandbox": {"config": {"a": 1}}}, ClassReason.NOT_SUPPORTED, "spec.sandbox.config"),
        ({"toolTimeout": "1s"}, ClassReason.NOT_SUPPORTED, "spec.toolTimeout"),
        ({"mounts": [{**MOUNT, "digest": DIGEST}]}, ClassReason.NOT_SUPPORTED, "spec.mounts[m].digest of a raw mount"),
    ),
)
def test_what_is_wrong_is_told_by_its_reason_and_field(spec: dict[str, Any], reason: ClassReason, field: str) -> None:
    found = judged(**spec)

    assert (found.valid, found.reason) == (False, reason)
    assert found.message.startswith(field)


@pytest.mark.parametrize("name", ("cpu", "memory", "ephemeralStorage", "tmpSize", "workSize"))
def test_an_amount_of_nothing_is_refused(name: str) -> None:
    found = judged(resources={**examples.RESOURCES, name: "0"})

    assert found[:3] == (False, ClassReason.INVALID_RESOURCE, f"spec.resources.{name} must be more than 0")


def test_a_class_may_do_without_a_cache() -> None:
    assert judged(resources={**examples.RESOURCES, "cacheSize": "0"}).valid


@pytest.mark.parametrize(("name", "amount"), (("cpu", "1001m"), ("memory", "2Gi"), ("ephemeralStorage", "2Gi")))
def test_nothing_is_set_aside_that_may_not_be_used(name: str, amount: str) -> None:
    found = judged(pod={"requests": {name: amount}})

    message = f"spec.pod.requests.{name} must be at most spec.resources.{name}"
    assert found[:3] == (False, ClassReason.INVALID_RESOURCE, message)


def test_a_class_can_except_names_that_look_like_secrets() -> None:
    assert judged(envDefaults={"GITHUB_TOKEN": ""}, allowedEnvNames=["GITHUB_TOKEN"]).valid


def test_every_objection_is_told_in_the_order_of_the_checks() -> None:
    spec = examples.session_class(tools=[], envDefaults={"A-B": "", "API_KEY": ""}, toolTimeout="1s").spec

    assert [found.reason for found in classes.objections(spec)] == [
        ClassReason.INVALID_IMAGE,
        ClassReason.INVALID_TOOL,
        ClassReason.INVALID_ENV_DEFAULTS,
        ClassReason.INVALID_ENV_DEFAULTS,
        ClassReason.NOT_SUPPORTED,
    ]


def test_no_value_of_a_variable_is_in_a_message() -> None:
    assert "value-under-test" not in judged(envDefaults={"API_KEY": "value-under-test"}).message


def test_a_message_about_a_name_without_end_still_says_what_is_wrong() -> None:
    found = judged(envDefaults={"A-" * 2_000: ""})

    assert "has a name that no process can be given" in found.message
    assert len(found.message) < 1_024


def test_without_checks_no_class_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "CHECKS", ())

    with pytest.raises(LookupError):
        judged()


@pytest.mark.parametrize(
    ("mount", "reason"),
    (
        (MOUNT, ClassReason.VALID),
        ({**MOUNT, "format": "tarGz", "digest": DIGEST}, ClassReason.VALID),
        ({**MOUNT, "mountPath": "/usr/bin"}, ClassReason.INVALID_MOUNTS),
        ({**MOUNT, "mountPath": "/of-class/x"}, ClassReason.INVALID_MOUNTS),
        ({**MOUNT, "digest": DIGEST}, ClassReason.NOT_SUPPORTED),
    ),
)
def test_mounts_of_a_session_are_judged_beside_its_class(mount: dict[str, Any], reason: ClassReason) -> None:
    spec = examples.session_class(mounts=[{**MOUNT, "mountPath": "/of-class"}]).spec

    found = classes.mounts_judged([Mount.model_validate(mount)], spec)

    assert (found.valid, found.reason) == (reason is ClassReason.VALID, reason)


@pytest.fixture
def library() -> Library:
    """One toolspec, for `echo`."""
    found = Library()
    found.put_toolkit(policies.spiceboxtoolkit(name="echo"))
    found.put_toolspec(policies.spiceboxtoolspec("echo-all", toolkit={"name": "echo", "revision": "1"}))
    return found


def declaring(*tools: str, **spec: Any) -> SpiceboxClass:  # noqa: ANN401 (fields of a manifest)
    """A class of these tools that declares the toolspec of `echo`."""
    offered = [{"name": tool, "command": [tool]} for tool in tools]
    return examples.session_class(**{"image": IMAGE, "tools": offered, "toolspecs": [{"name": "echo-all"}], **spec})


def test_a_class_whose_programs_are_all_judged_is_valid_and_told_by_what(library: Library) -> None:
    found = classes.judged(declaring("echo"), library=library)

    assert found == (
        True,
        ClassReason.RESOLVED,
        "sessions can be made of it, and toolspecs judge their calls",
        {"echo": ("echo-all",)},
    )


def test_a_class_with_a_program_that_no_toolspec_judges_is_not_valid_and_told_which(library: Library) -> None:
    found = classes.judged(declaring("echo", "cat"), library=library)

    assert (found.valid, found.reason) == (False, ClassReason.TOOLSPEC_COVERAGE_MISSING)
    assert found.message == "spec.toolspecs has none that judges calls of cat"
    assert found.coverage == {"echo": ("echo-all",), "cat": ()}


def test_what_else_is_wrong_with_a_class_is_told_first(library: Library) -> None:
    found = classes.judged(declaring("cat", image=" "), library=library)

    assert (found.reason, found.coverage) == (ClassReason.INVALID_IMAGE, {"cat": ()})


def test_a_class_that_declares_no_toolspecs_needs_none(library: Library) -> None:
    found = classes.judged(examples.session_class(image="tools"), library=library)

    assert (found.valid, found.reason, found.coverage) == (True, ClassReason.VALID, {})
