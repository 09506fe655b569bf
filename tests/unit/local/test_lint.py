"""Everything that is wrong with a set of manifests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcall_operator.api.parsing import Parsed
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.local import manifests
from toolcall_operator.local.findings import Finding
from toolcall_operator.local.lint import Known, Remark, lint

CLASS = """\
apiVersion: agentprimitives.authzed.com/v1alpha1
kind: SpiceboxClass
metadata: {name: plain}
spec:
  resources: {cpu: "1", memory: 1Gi, ephemeralStorage: 1Gi}
  tools:
    - {name: echo, command: [/bin/echo]}
    - {name: cat, command: [cat]}
"""
SESSION = """\
apiVersion: agentprimitives.authzed.com/v1alpha1
kind: SpiceboxSession
metadata: {name: work}
spec:
  class: plain
"""
CALL = """\
apiVersion: agentprimitives.authzed.com/v1alpha1
kind: ToolCall
metadata:
  name: one
spec:
  session: work
  tool: echo
"""


def found(tmp_path: Path, *documents: str) -> list[str]:
    """What there is to say, a line each, without the name of the folder."""
    return [str(finding).removeprefix(f"{tmp_path}/") for finding in linted(tmp_path, *documents)]


def linted(tmp_path: Path, *documents: str) -> tuple[Finding, ...]:
    (tmp_path / "all.yaml").write_text("---\n".join(documents))
    return lint(manifests.load([tmp_path]))


def test_manifests_that_fit_together_have_nothing_to_tell(tmp_path: Path) -> None:
    assert found(tmp_path, CLASS, SESSION, CALL) == []


def test_their_order_does_not_matter(tmp_path: Path) -> None:
    assert found(tmp_path, CALL, SESSION, CLASS) == []


def test_every_problem_of_every_document_has_its_line(tmp_path: Path) -> None:
    broken = CALL.replace("tool: echo", "tool: echo\n  timout: 1s\n  env:\n    A: 1").replace("name: one", "nme: one")

    assert found(tmp_path, broken, "a: 1\n") == [
        "all.yaml:3: error: metadata.name is required",
        "all.yaml:8: error: spec.timout is not a known field; did you mean timeout?",
        "all.yaml:10: error: spec.env.A must be text; put it in quotes",
        "all.yaml:12: error: apiVersion is required",
        "all.yaml:12: error: kind is required",
    ]


def test_a_session_and_a_class_that_are_not_in_the_files_are_warnings(tmp_path: Path) -> None:
    assert found(tmp_path, CALL) == [
        "all.yaml:6: warning: spec.session names a SpiceboxSession, work, that is not in these files"
    ]
    assert found(tmp_path, SESSION, CALL) == [
        "all.yaml:5: warning: spec.class names a SpiceboxClass, plain, that is not in these files"
    ]


def test_a_session_or_class_that_cannot_be_read_is_not_told_as_missing(tmp_path: Path) -> None:
    assert found(tmp_path, SESSION.replace("class:", "klass:"), CALL) == [
        "all.yaml:4: error: spec.class is required",
        "all.yaml:5: error: spec.klass is not a known field; did you mean class?",
    ]
    assert found(tmp_path, CLASS.replace("1Gi", "1Gb", 1), SESSION, CALL) == [
        "all.yaml:5: error: spec.resources.memory must be a quantity such as 500m, 64Mi or 1.5Gi, not '1Gb'",
    ]


def test_a_session_of_another_namespace_is_not_the_calls(tmp_path: Path) -> None:
    elsewhere = SESSION.replace("{name: work}", "{name: work, namespace: other}")

    assert found(tmp_path, CLASS, elsewhere, CALL) == [
        "all.yaml:21: warning: spec.session names a SpiceboxSession, work, that is not in these files"
    ]


@pytest.mark.parametrize(
    ("tools", "offered"),
    ((CLASS, "it has cat, echo"), (CLASS[: CLASS.index("  tools:")], "it has none")),
    ids=["two", "none"],
)
def test_a_tool_that_the_class_does_not_have_is_an_error(tmp_path: Path, tools: str, offered: str) -> None:
    (line,) = found(tmp_path, SESSION, CALL.replace("tool: echo", "tool: ech"), tools)

    assert line == f"all.yaml:13: error: spec.tool is not a tool of SpiceboxClass plain: {offered}"


def test_the_same_object_twice_is_an_error_that_names_the_first(tmp_path: Path) -> None:
    assert found(tmp_path, CLASS, SESSION, CALL, CALL.replace("echo", "nothing")) == [
        f"all.yaml:27: error: metadata.name is taken: the same object stands in {tmp_path}/all.yaml:16"
    ]


def test_a_namespace_left_out_is_the_default_one(tmp_path: Path) -> None:
    explicit = CALL.replace("  name: one", "  name: one\n  namespace: default")

    (line,) = found(tmp_path, CLASS, SESSION, CALL, explicit)

    assert "metadata.name is taken" in line


def test_the_same_name_in_another_namespace_or_kind_is_another_object(tmp_path: Path) -> None:
    other = CALL.replace("  name: one", "  name: one\n  namespace: other")
    of_that_name = CALL.replace("name: one", "name: work")

    assert [line for line in found(tmp_path, CLASS, SESSION, CALL, other, of_that_name) if "taken" in line] == []


def test_more_checks_can_be_given(tmp_path: Path) -> None:
    def no_echo(parsed: Parsed, known: Known) -> Iterator[Remark]:
        session = known.session_of(parsed) if isinstance(parsed, ToolCall) else None
        if session:
            yield Remark("spec.tool", f"is seen in {session.metadata.name}")

    (tmp_path / "all.yaml").write_text(f"{CLASS}---\n{SESSION}---\n{CALL}")

    (finding,) = lint(manifests.load([tmp_path]), [no_echo])

    assert (finding.line, finding.path, finding.message) == (22, "spec.tool", "is seen in work")
