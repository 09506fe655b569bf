"""A cluster made of documents: what is taken in, what is refused, what is remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import ToolCallStatus
from toolcall_operator.core import validation
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.local import manifests
from toolcall_operator.local.cluster import FileCluster
from toolcall_operator.local.entries import Entry
from toolcall_operator.local.findings import Level

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
HEAD = "apiVersion: agentprimitives.authzed.com/v1alpha1\nkind: "
CLASS = HEAD + "SpiceboxClass\nmetadata: {name: tools}\nspec: {resources: {cpu: 1, memory: 1Mi, ephemeralStorage: 1Mi}}"
SESSION = HEAD + "SpiceboxSession\nmetadata: {name: here}\nspec: {class: tools}"


def a_call(metadata: str = "{name: build}", spec: str = "{session: here, tool: make}") -> str:
    return f"{HEAD}ToolCall\nmetadata: {metadata}\nspec: {spec}"


ClusterOf = Callable[..., FileCluster]


@pytest.fixture
def cluster_of(tmp_path: Path) -> ClusterOf:
    """Makes a cluster of these documents, which stand in one file."""

    def made(*documents: str) -> FileCluster:
        path = tmp_path / "world.yaml"
        path.write_text("\n---\n".join(documents))
        return FileCluster(manifests.load([path]), lambda: NOW)

    return made


def the_call(cluster: FileCluster) -> ToolCall:
    (entry,) = cluster.entries
    assert entry.call is not None
    return entry.call


def reasons(entries: Iterable[Entry]) -> list[str | None]:
    return [entry.end.reason if entry.end else None for entry in entries]


async def test_the_world_of_a_call_is_its_session_and_that_ones_class(cluster_of: ClusterOf) -> None:
    cluster = cluster_of(a_call(), SESSION, CLASS)

    world = await cluster.observe(the_call(cluster))

    assert world.session is not None
    assert world.session_class is not None
    assert (world.session.metadata.name, world.session_class.metadata.name) == ("here", "tools")


async def test_what_a_place_without_pods_lacks_is_part_of_the_world(cluster_of: ClusterOf) -> None:
    cluster = cluster_of(a_call())

    assert "SpiceboxClass spec.mounts" in (await cluster.observe(the_call(cluster))).lacking


@pytest.mark.parametrize(
    "documents",
    ((CLASS,), (CLASS, SESSION.replace("name: here", "name: here, namespace: other"))),
    ids=("no session at all", "one in another namespace"),
)
async def test_a_session_that_is_not_there_is_none(cluster_of: ClusterOf, documents: tuple[str, ...]) -> None:
    cluster = cluster_of(a_call(), *documents)

    world = await cluster.observe(the_call(cluster))

    assert (world.session, world.session_class) == (None, None)


async def test_a_session_whose_class_is_not_there_has_none(cluster_of: ClusterOf) -> None:
    cluster = cluster_of(a_call(), SESSION)

    world = await cluster.observe(the_call(cluster))

    assert world.session is not None
    assert world.session_class is None


async def test_a_new_object_gets_what_an_api_server_gives(cluster_of: ClusterOf) -> None:
    cluster = cluster_of(a_call(), SESSION)
    call = the_call(cluster)
    session = (await cluster.observe(call)).session

    assert session is not None
    assert (call.metadata.namespace, call.metadata.generation, call.metadata.creation_timestamp) == ("default", 1, NOW)
    assert len({call.metadata.uid, session.metadata.uid}) == 2
    assert len(call.metadata.uid) == len(session.metadata.uid) == 36


def test_what_an_object_has_already_it_keeps(cluster_of: ClusterOf) -> None:
    metadata = "{name: build, namespace: team, uid: abc-1, generation: 3, creationTimestamp: '2020-01-01T00:00:00Z'}"
    kept = the_call(cluster_of(a_call(metadata))).metadata

    assert (kept.namespace, kept.uid, kept.generation) == ("team", "abc-1", 3)
    assert kept.creation_timestamp == datetime(2020, 1, 1, tzinfo=UTC)


def test_a_generated_name_begins_as_it_is_told(cluster_of: ClusterOf) -> None:
    cluster = cluster_of(a_call("{generateName: step-}"), a_call("{generateName: step-}"))

    names = {entry.name for entry in cluster.entries}
    assert len(names) == 2
    assert all(name.startswith("step-") and len(name) > len("step-") for name in names)


async def test_a_reported_status_is_kept_and_told_to_those_who_listen(cluster_of: ClusterOf) -> None:
    cluster = cluster_of(a_call(), a_call("{name: test}"))
    heard: list[Entry] = []
    cluster.listen(heard.append)
    call = cluster.entries[0].call
    assert call is not None

    reported = await cluster.report(call, ToolCallStatus(exit_code=7))

    assert reported.status == ToolCallStatus(exit_code=7)
    assert heard == [cluster.entries[0]]
    assert [entry.status for entry in cluster.entries] == [ToolCallStatus(exit_code=7), None]
    assert cluster.entries[0].to_manifest()["status"] == {"exitCode": 7}


def test_a_call_that_cannot_be_read_has_ended_with_every_problem_in_its_place(cluster_of: ClusterOf) -> None:
    cluster = cluster_of(a_call("{name: first}"), a_call("{name: broken}", "{sessoin: here}"), a_call("{name: last}"))

    assert [entry.name for entry in cluster.entries] == ["first", "broken", "last"]
    assert reasons(cluster.entries) == [None, "MalformedObject", None]
    assert cluster.entries[1].call is None
    end = cluster.entries[1].end
    assert end is not None
    assert all(field in end.message for field in ("spec.session", "spec.tool", "spec.sessoin"))


@pytest.mark.parametrize("twin", ("{name: build}", "{name: other, uid: u-1}"), ids=("the same name", "the same UID"))
def test_two_calls_are_never_taken_for_one(cluster_of: ClusterOf, twin: str) -> None:
    cluster = cluster_of(a_call("{name: build, uid: u-1}"), a_call(twin))

    assert reasons(cluster.entries) == [None, "MalformedObject"]
    end = cluster.entries[1].end
    assert end is not None
    assert "is taken by the object at" in end.message
    assert "world.yaml:1" in end.message


def test_the_same_name_in_another_namespace_is_another_call(cluster_of: ClusterOf) -> None:
    assert reasons(cluster_of(a_call(), a_call("{name: build, namespace: team}")).entries) == [None, None]


@pytest.mark.parametrize("uid", ("../../escaped", "a/b", "x y", "", "-a", "u" * 65))
def test_a_uid_that_could_name_a_folder_elsewhere_or_that_no_supervisor_takes_is_refused(
    cluster_of: ClusterOf, uid: str
) -> None:
    (entry,) = cluster_of(a_call(f"{{name: build, uid: '{uid}'}}")).entries

    assert entry.end is not None
    assert (entry.end.reason, entry.end.message) == (
        "MalformedObject",
        "metadata.uid must be 1 to 64 letters, digits and '-', the first no '-'",
    )


async def test_of_two_sessions_with_one_name_the_first_counts_and_the_other_is_told(cluster_of: ClusterOf) -> None:
    cluster = cluster_of(a_call(), SESSION, SESSION.replace("class: tools", "class: other"))

    session = (await cluster.observe(the_call(cluster))).session

    assert session is not None
    assert session.spec.class_ == "tools"
    (finding,) = cluster.findings
    assert "metadata.name is taken" in str(finding)


@pytest.mark.parametrize(
    "document",
    (
        "just text",
        "[a, list]",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}",
        SESSION.replace("class", "klass"),
    ),
    ids=("text", "a list", "another kind", "a session that cannot be read"),
)
def test_a_document_that_is_no_call_and_cannot_be_read_is_told_and_hinders_nobody(
    cluster_of: ClusterOf, document: str
) -> None:
    cluster = cluster_of(document, a_call())

    assert len(cluster.entries) == 1
    assert cluster.findings
    assert "world.yaml:" in str(cluster.findings[0])


def test_only_classes_and_sessions_that_calls_name_are_in_use(cluster_of: ClusterOf) -> None:
    spare = (CLASS.replace("tools", "spare"), SESSION.replace("here", "spare").replace("tools", "spare"))

    used = cluster_of(a_call(), CLASS, SESSION, *spare).used

    assert [manifest.metadata.name for manifest in used] == ["tools", "here"]


async def test_a_session_that_cannot_be_read_is_told_as_there_with_its_place_and_problem(cluster_of: ClusterOf) -> None:
    cluster = cluster_of(a_call(), SESSION.replace("class:", "klass:"))

    refused = validation.plan(the_call(cluster), await cluster.observe(the_call(cluster)))

    assert isinstance(refused, Refused)
    assert refused.reason is Reason.SESSION_NOT_ACTIVE
    assert "is in namespace default and cannot be read: " in refused.message
    assert "world.yaml:9: spec.klass is not a known field; did you mean class?" in refused.message


async def test_a_class_that_cannot_be_read_is_told_as_there_with_its_place_and_problem(cluster_of: ClusterOf) -> None:
    cluster = cluster_of(a_call(), SESSION, CLASS.replace("memory: 1Mi", "memory: -1"))

    refused = validation.plan(the_call(cluster), await cluster.observe(the_call(cluster)))

    assert isinstance(refused, Refused)
    assert refused.reason is Reason.SESSION_NOT_ACTIVE
    assert "SpiceboxClass tools cannot be read: " in refused.message
    assert "world.yaml:14: spec.resources.memory must be at least 0" in refused.message


async def test_a_session_that_cannot_be_read_is_none_in_another_namespace(cluster_of: ClusterOf) -> None:
    broken = SESSION.replace("name: here", "name: here, namespace: other").replace("class:", "klass:")
    cluster = cluster_of(a_call(), broken, "just text", HEAD + "SpiceboxSession\nmetadata: {name: [a]}")

    assert (await cluster.observe(the_call(cluster))).unread == ""


DELETED = "deletionTimestamp: '2026-01-31T11:00:00Z'"


def test_a_call_that_is_being_deleted_is_leaving_and_its_status_stays_as_it_is(cluster_of: ClusterOf) -> None:
    leaving, staying = cluster_of(a_call(f"{{name: build, {DELETED}}}"), a_call("{name: test}"), SESSION, CLASS).entries

    assert (leaving.leaving, staying.leaving) == ("it is being deleted", "")
    assert leaving.status is None
    assert "status" not in leaving.to_manifest()


def test_the_calls_of_a_session_that_is_being_deleted_are_leaving(cluster_of: ClusterOf) -> None:
    session = SESSION.replace("name: here", f"name: here, {DELETED}")

    here, elsewhere = cluster_of(a_call(), a_call("{name: test, namespace: other}"), session, CLASS).entries

    assert (here.leaving, elsewhere.leaving) == ("its session is being deleted", "")


def test_a_call_that_has_ended_or_cannot_be_read_is_not_leaving(cluster_of: ClusterOf) -> None:
    ended = a_call(f"{{name: build, {DELETED}}}") + (
        "\nstatus: {finished: true, conditions: [{type: Finished, status: 'True', reason: ProcessExited, message: '', "
        "lastTransitionTime: '2026-01-31T11:00:00Z'}]}"
    )
    cluster = cluster_of(ended, a_call(f"{{name: test, {DELETED}}}", "{}"))

    assert [entry.leaving for entry in cluster.entries] == ["", ""]


def test_metadata_that_nobody_here_reads_is_kept_as_it_was_written(cluster_of: ClusterOf) -> None:
    owner = "{apiVersion: v1, kind: Pod, name: p, uid: u, blockOwnerDeletion: true}"
    written = f"{{name: build, finalizers: [a/b], resourceVersion: '7', ownerReferences: [{owner}], selfLink: x}}"
    (entry,) = cluster_of(a_call(written)).entries

    metadata = entry.to_manifest()["metadata"]

    assert (metadata["finalizers"], metadata["resourceVersion"], metadata["selfLink"]) == (["a/b"], "7", "x")
    assert metadata["ownerReferences"][0]["blockOwnerDeletion"] is True


@pytest.mark.parametrize("generation", (2**60, -1, True))
def test_a_generation_that_no_object_has_is_a_problem_like_any_other(cluster_of: ClusterOf, generation: int) -> None:
    broken, fine = cluster_of(a_call(f"{{name: build, generation: {generation}}}"), a_call("{name: test}")).entries

    assert broken.end is not None
    assert broken.end.message.startswith("metadata.generation must be ")
    assert fine.end is None


@pytest.mark.parametrize("kind", ("[ToolCall]", "{a: b}", "7", "null"))
def test_a_kind_that_is_no_text_is_told(cluster_of: ClusterOf, kind: str) -> None:
    cluster = cluster_of(a_call().replace("kind: ToolCall", f"kind: {kind}"), a_call())

    assert len(cluster.entries) == 1
    assert "kind " in str(cluster.findings[0])


@pytest.mark.parametrize(
    ("document", "level"),
    (
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}", Level.WARNING),
        ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}", Level.WARNING),
        ("apiVersion: agentprimitives.authzed.com/v1alpha1\nkind: Toolcall\nmetadata: {name: a}", Level.ERROR),
        ("apiVersion: agentprimitves.authzed.com/v1alpha1\nkind: SpiceboxClass\nmetadata: {name: a}", Level.ERROR),
        ("kind: Toolcall\nmetadata: {name: a}", Level.ERROR),
        ("just text", Level.ERROR),
    ),
    ids=["v1", "another group", "a mistyped kind", "a mistyped group", "no group", "no object"],
)
def test_an_object_of_somebody_else_is_no_mistake(cluster_of: ClusterOf, document: str, level: Level) -> None:
    assert {finding.level for finding in cluster_of(document, a_call()).findings} == {level}


def test_a_call_that_another_operator_ended_has_an_end(cluster_of: ClusterOf) -> None:
    time = "'2026-01-01T00:00:00Z'"
    ended = f"{{type: Succeeded, status: 'True', reason: ProcessExited, message: '', lastTransitionTime: {time}}}"
    [entry] = cluster_of(a_call() + f"\nstatus: {{conditions: [{ended}]}}").entries

    assert entry.end is not None
    assert (entry.end.reason, entry.succeeded) == ("ProcessExited", True)
