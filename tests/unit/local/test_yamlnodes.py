"""YAML as kubectl reads it, with the line of every field."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.local import yamlnodes

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]))
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), max_size=40)  # YAML ends names at 1,024 bytes
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)


def read(text: str) -> list[Any]:
    return [value for value, _ in yamlnodes.read(text)]


def refusal(text: str) -> yamlnodes.NotReadable:
    with pytest.raises(yamlnodes.NotReadable) as refused:
        list(yamlnodes.read(text))
    return refused.value


@pytest.mark.parametrize(
    ("text", "value"),
    (
        ("y", True),
        ("yes", True),
        ("On", True),
        ("n", False),
        ("off", False),
        ("False", False),
        ("tRue", "tRue"),
        ("~", None),
        ("null", None),
        ("", None),
        ("010", 8),
        ("0o10", 8),
        ("-0x1F", -31),
        ("0b101", 5),
        ("1_000", 1000),
        ("08", 8.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1:30", "1:30"),
        ("2026-01-31", "2026-01-31"),
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ("'yes'", "yes"),
        ('"1"', "1"),
        ("=", "="),
        ("1m30s", "1m30s"),
        ("500m", "500m"),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\ud800"', "\ud800"),
        ('"a\\/b"', "a/b"),
    ),
)
def test_a_value_is_what_kubectl_makes_of_it(text: str, value: object) -> None:
    (document,) = read(f"- {text}")

    assert document == [value]
    assert type(document[0]) is type(value)


@given(VALUES)
def test_json_reads_as_json(value: Any) -> None:  # noqa: ANN401 (any value of JSON)
    for ascii_only in (True, False):
        assert read(json.dumps([value], ensure_ascii=ascii_only)) == [[value]]


def test_json_indented_with_tabs_is_read_with_its_lines() -> None:
    text = '{\n\t"spec": {\n\t\t"tool": "a\\tb"\n\t}\n}\n'

    ((value, positions),) = yamlnodes.read(text)

    assert value == {"spec": {"tool": "a\tb"}}
    assert positions.line("spec.tool") == 3


def test_several_documents_are_told_apart_and_empty_ones_passed_over() -> None:
    assert read("---\na: 1\n---\n# nothing\n---\nb: 2\n...\n") == [{"a": 1}, {"b": 2}]


def test_anchors_aliases_and_merges_are_resolved() -> None:
    text = "base: &base {a: 1, b: 2}\nsame: *base\nmore:\n  <<: *base\n  b: 3\nboth:\n  <<: [{a: 4}, *base]\n"

    (document,) = read(text)

    assert document["same"] == {"a": 1, "b": 2}
    assert document["more"] == {"a": 1, "b": 3}
    assert document["both"] == {"a": 4, "b": 2}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    (
        ("a: 1\nb: [\n", 3, "is not YAML"),
        ("a: 1\n\tb: 2\n", 2, "is not YAML"),
        ("a: b: c\n", 1, "is not YAML"),
        ("a: *nowhere\n", 1, "is not YAML"),
        ("a: 1\nb: 2\na: 3\n", 3, "holds the name 'a' twice"),
        ("spec:\n  env:\n    A: x\n    'A': y\n", 4, "holds the name 'A' twice"),
        ("a: !!python/object:os.system x\n", 1, "has a tag that manifests do not have"),
        ("a: !!binary aGk=\n", 1, "has a tag that manifests do not have"),
        ("a: !custom {b: 1}\n", 1, "has a tag that manifests do not have"),
        ("? [a]\n: 1\n", 1, "has a list or an object where a name belongs"),
        ("x: 1\na: &a\n  b: *a\n", 2, "part of"),
        ("a:\n  <<: 1\n", 2, "has a << that brings in something else"),
        ("a: 1\nb: \x01\n", 2, "a character that YAML does not allow"),
        (f"a: {'9' * 5000}\n", 1, "holds a number that cannot be read"),
        (f"a: 0x{'f' * 5000}\n", 1, "holds a number that cannot be read"),
        (f"? 0b{'1' * 5000}\n: x\n", 1, "holds a number that cannot be read"),
        ("a: 1\nb: .nan\n", 2, "holds a number that JSON does not have"),
        ("a: -.INF\n", 1, "holds a number that JSON does not have"),
        ("a: 1e400\n", 1, "holds a number that JSON does not have"),
        ("a: !!int x\n", 1, "holds a number that cannot be read"),
        ("a: !!float x\n", 1, "holds a number that cannot be read"),
    ),
)
def test_what_cannot_be_read_is_told_with_its_line(text: str, line: int, message: str) -> None:
    error = refusal(text)

    assert message in str(error)
    assert error.line == line


def test_an_alias_bomb_is_refused_before_it_is_written_out() -> None:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]

    assert "more than 1000000 values" in str(refusal("\n".join(["a0: &a0 [x]", *levels])))


def test_endless_nesting_is_refused() -> None:
    assert "nested too deeply" in str(refusal("[" * 100_000))


def test_the_documents_before_a_fault_are_delivered() -> None:
    documents = yamlnodes.read("a: 1\n---\nb: [\n")

    assert next(documents)[0] == {"a": 1}
    with pytest.raises(yamlnodes.NotReadable):
        next(documents)


POSITIONS = """\
# a comment
kind: ToolCall
spec:
  args:
    - one
    - - two
    - three: 3
      four: 4
  env:
    "a.b": x
    5: y
    plain-name: z
"""


@pytest.mark.parametrize(
    ("path", "line"),
    (
        ("", 2),
        ("kind", 2),
        ("spec", 3),
        ("spec.args", 4),
        ("spec.args[0]", 5),
        ("spec.args[1][0]", 6),
        ("spec.args[2].four", 8),
        ('spec.env["a.b"]', 10),
        ("spec.env[5]", 11),
        ("spec.env.plain-name", 12),
        ("spec.session", 3),
        ("spec.args[9]", 4),
        ("spec.args.name", 4),
        ("metadata.name", 2),
    ),
)
def test_a_field_has_the_line_on_which_it_stands_or_that_of_what_should_hold_it(path: str, line: int) -> None:
    ((_, positions),) = yamlnodes.read(POSITIONS)

    assert positions.line(path) == line


@pytest.mark.parametrize("text", ("a: *hunter2", "a: 'hunter2", "a: &hunter2 1\nb: &hunter2 2"))
def test_what_is_wrong_with_a_file_is_told_without_quoting_it(text: str) -> None:
    with pytest.raises(yamlnodes.NotReadable) as told:
        list(yamlnodes.read(text))

    assert "hunter2" not in str(told.value)
    assert told.value.__cause__ is None
