"""Manifest files, found and cut into documents."""

import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolcall_operator.local import manifests
from toolcall_operator.local.findings import Finding

CALL = "kind: ToolCall\nmetadata:\n  name: one\nspec:\n  tool: echo\n"


def test_a_file_holds_documents_each_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "calls.yaml"
    file.write_text(f"# two calls\n---\n{CALL}---\n{CALL}")

    one, two = manifests.load([file])

    assert (one.source, one.line, two.line) == (str(file), 3, 9)
    assert one.raw["spec"] == {"tool": "echo"}
    assert (one.position_of("spec.tool"), two.position_of("spec.tool")) == (7, 13)


def test_a_folder_is_searched_to_the_bottom_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b.yml", "a/z.yaml", "a/b/c.json", "notes.md", "d.yaml.bak"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('{"kind": "ToolCall"}')

    documents = manifests.load([tmp_path])

    assert [Path(document.source).relative_to(tmp_path).as_posix() for document in documents] == [
        "a/b/c.json",
        "a/z.yaml",
        "b.yml",
    ]


def test_standard_input_is_read_for_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(CALL.encode())))

    (document,) = manifests.load(["-"])

    assert (document.source, document.line) == ("<stdin>", 1)


def test_the_items_of_a_list_are_documents_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "list.yaml"
    file.write_text(
        "kind: List\nitems:\n- kind: ToolCall\n  spec:\n    tool: a\n"
        "- kind: List\n  items:\n  - kind: ToolCall\n    spec: {}\n"
    )

    one, two = manifests.load([file])

    assert (one.line, one.position_of("spec.tool")) == (3, 5)
    assert (two.line, two.position_of("spec")) == (8, 9)


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "call.yaml"
    file.write_text(CALL)

    assert len(manifests.load([file, str(file)])) == 1


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "call.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + CALL.encode())

    assert manifests.load([file])[0].raw["kind"] == "ToolCall"


def test_what_can_be_read_is_delivered_beside_what_cannot(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{CALL}---\nspec: [\n")
    (tmp_path / "b.yaml").write_text(CALL)
    (tmp_path / "c.yaml").write_bytes(b"a: \xff\n")

    loaded = manifests.read([tmp_path, tmp_path / "missing.yaml"])

    assert [Path(document.source).name for document in loaded.documents] == ["a.yaml", "b.yaml"]
    assert [(Path(finding.source).name, finding.line) for finding in loaded.findings] == [
        ("a.yaml", 8),
        ("c.yaml", 0),
        ("missing.yaml", 0),
    ]
    assert [finding.message.split(":")[0] for finding in loaded.findings] == [
        "is not YAML",
        "is not UTF-8 text (byte 3)",
        "cannot be read",
    ]


def test_a_folder_without_manifests_is_told(tmp_path: Path) -> None:
    (finding,) = manifests.read([tmp_path]).findings

    assert finding.message == "holds no manifests: no file there ends in .json, .yaml, .yml"


def test_a_pipe_in_a_folder_is_told_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")

    [finding] = manifests.read([tmp_path]).findings

    assert (finding.source, finding.message) == (str(tmp_path / "pipe.yaml"), "is no file")


def test_an_endless_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "LARGEST_FILE", 8)
    file = tmp_path / "call.yaml"
    file.write_text(CALL)

    (finding,) = manifests.read([file]).findings

    assert finding.message == "cannot be read: it is larger than 8 bytes"


def test_loading_fails_with_every_finding_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [\n")
    (tmp_path / "b.yaml").write_text("b: {\n")

    with pytest.raises(manifests.Unreadable) as refused:
        manifests.load([tmp_path])

    assert [Path(finding.source).name for finding in refused.value.findings] == ["a.yaml", "b.yaml"]
    assert f"{tmp_path / 'b.yaml'}:2: error: is not YAML" in str(refused.value)


def test_a_document_does_not_show_what_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "call.yaml"
    file.write_text("stdin: hunter2\n")

    assert "hunter2" not in repr(manifests.load([file]))


@pytest.mark.parametrize(
    ("finding", "line"),
    (
        (Finding("a.yaml", 3, "spec.tool", "is required"), "a.yaml:3: error: spec.tool is required"),
        (Finding("a.yaml", 0, "", "cannot be read"), "a.yaml: error: cannot be read"),
    ),
)
def test_a_finding_is_one_line_that_editors_jump_to(finding: Finding, line: str) -> None:
    assert str(finding) == line
