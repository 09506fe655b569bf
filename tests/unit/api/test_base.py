"""What all models have in common."""

import copy
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from tests.unit.api import manifests
from toolcall_operator.api import base, parsing
from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import Dispatch, ToolCallStatus

MOMENT = datetime(2026, 1, 31, 12, 0, 0, 750_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("attribute", "name"),
    (
        ("args", "args"),
        ("stream_token_hash", "streamTokenHash"),
        ("session_uid", "sessionUID"),
        ("boot_id", "bootID"),
        ("resource_server_url", "resourceServerURL"),
        ("idle_ttl", "idleTTL"),
        ("ttl_seconds_after_finished", "ttlSecondsAfterFinished"),
        ("landlock_abi", "landlockABI"),
        ("class_", "class"),
        ("http_status", "httpStatus"),
    ),
)
def test_attributes_are_spelled_in_manifests_as_kubernetes_spells_them(attribute: str, name: str) -> None:
    assert base.camel(attribute) == name


def test_a_manifest_comes_back_as_it_was_written() -> None:
    written = {
        **manifests.call(
            env={"A": "b"},
            timeout="1m30s",
            arguments={"deep": [1, None, {"x": None}]},
            args=[],
            cancel=False,
            workspace={},
        ),
        "status": {"finished": True, "startedAt": "2026-01-31T12:00:00Z"},
    }

    assert parsing.parse(written).to_manifest() == written


def test_times_are_as_precise_as_kubernetes_has_them_for_the_field() -> None:
    status = ToolCallStatus(
        started_at=MOMENT,
        dispatch=Dispatch(boot_id="b", operator="o", epoch=1, at=MOMENT),
        conditions=(
            Condition(type="Running", status="True", reason="Started", message="", last_transition_time=MOMENT),
        ),
    )

    written = status.to_manifest()

    assert written["startedAt"] == written["conditions"][0]["lastTransitionTime"] == "2026-01-31T12:00:00Z"
    assert written["dispatch"]["at"] == "2026-01-31T12:00:00.750000Z"


def test_what_was_not_set_is_not_written() -> None:
    assert ToolCallStatus(finished=True, exit_code=None).to_manifest() == {"finished": True}


def test_what_was_replaced_in_a_copy_is_written() -> None:
    call = parsing.parse(manifests.call()).model_copy(update={"status": ToolCallStatus(finished=True)})

    assert call.to_manifest() == {**manifests.call(), "status": {"finished": True}}


def test_quantities_and_lengths_of_time_are_written_as_text() -> None:
    read = SpiceboxClass.model_validate(manifests.session_class(limits={"outputBytes": 2048}, toolTimeout="5m0s"))

    spec = read.to_manifest()["spec"]

    assert (spec["limits"], spec["toolTimeout"]) == ({"outputBytes": "2Ki"}, "5m")
    assert spec["resources"] == manifests.RESOURCES


def test_models_are_read_only_down_to_their_mappings() -> None:
    call = ToolCall.model_validate(manifests.call(env={"A": "b"}))

    with pytest.raises(ValidationError, match="frozen"):
        call.spec.session = "other"  # type: ignore[misc]  # what mypy forbids must fail at run time, too
    with pytest.raises(TypeError):
        call.spec.env["A"] = "c"  # type: ignore[index]  # the same


def test_a_null_where_a_value_may_be_left_out_counts_as_left_out() -> None:
    assert parsing.parse(manifests.call(args=None, timeout=None)) == parsing.parse(manifests.call())


def test_a_status_field_of_a_newer_operator_is_passed_over() -> None:
    newer = {**manifests.call(), "status": {"finished": True, "fromTheFuture": 1, "dispatch": None}}

    assert parsing.parse(newer).status == ToolCallStatus(finished=True)


def test_metadata_holds_what_this_project_reads_and_passes_over_the_rest() -> None:
    call = manifests.call()
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True, "blockOwnerDeletion": True}
    call["metadata"] |= {"managedFields": [], "ownerReferences": [owner], "creationTimestamp": "2026-01-31T12:00:00Z"}

    metadata = parsing.parse(call).metadata

    assert metadata.namespace == "default"
    assert metadata.creation_timestamp == MOMENT.replace(microsecond=0)


def test_an_error_of_a_model_does_not_show_what_was_given() -> None:
    with pytest.raises(ValidationError) as error:
        ToolCall.model_validate(manifests.call(stdin=["hunter2"]))

    assert "hunter2" not in str(error.value)


def test_values_that_may_hold_a_misplaced_secret_do_not_show_in_a_repr() -> None:
    call = parsing.parse(
        manifests.call(args=["hunter2"], env={"A": "hunter2"}, stdin="hunter2", arguments={"password": "hunter2"})
    )

    assert "hunter2" not in repr(call)
    assert "hunter2" not in str(call)


def test_a_copy_of_a_default_is_not_shared_between_objects() -> None:
    one, other = parsing.parse(manifests.call()), parsing.parse(manifests.call())

    assert copy.copy(one) == other
    assert one.to_manifest() == other.to_manifest()


def test_a_timedelta_given_in_python_has_to_fit_a_manifest() -> None:
    with pytest.raises(ValidationError, match="whole number of milliseconds"):
        ToolCall.model_validate(manifests.call(timeout=timedelta(microseconds=1)))
