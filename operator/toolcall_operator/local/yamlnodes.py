"""YAML as kubectl reads it, with the line of every field.

kubectl reads YAML 1.1 by way of a Go library (sigs.k8s.io/yaml), and a manifest has to mean the same here: ``yes``,
``on`` and ``y`` are true, ``010`` is 8, ``1e3`` is a number, while times and ``1:30`` are text (PyYAML's own rules
differ in the last three and in ``y``). Three things are stricter: a name given twice is an error, a name that is no
text is left as it is for the parser to object to (kubectl makes the text "true" of ``on:``), and neither tags nor
numbers beyond those of JSON are known.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

LARGEST_DOCUMENT = 1_000_000
"""How many values a document may have once its aliases are written out: no alias bomb can fill the memory."""
LONGEST_NUMBER = 1_000
"""How many digits a whole number may have: Python writes out no more than 4,300 decimal ones."""

_TAG = "tag:yaml.org,2002:"
_STEP = re.compile(
    r'\.?(?P<name>[A-Za-z_][A-Za-z0-9_-]*)|\[(?P<index>\d+)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]', re.ASCII
)

_QUOTED = re.compile(r"(['\"]).*\1", re.DOTALL)
"""What PyYAML quotes of a file."""


class _Loader(Reader, Scanner, Parser, Composer, BaseResolver):
    """Composes nodes; what the values are is decided here, not by PyYAML's constructors."""

    def __init__(self, stream: str) -> None:
        Reader.__init__(self, stream)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        BaseResolver.__init__(self)


for _kind, _pattern, _first in (
    ("bool", "y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF", "yYtToOnNfF"),
    ("int", "[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+0123456789.",
    ),
    ("null", "~|null|Null|NULL|", "~nN\0"),
    ("merge", "<<", "<"),
):
    _firsts = ["" if first == "\0" else first for first in _first]
    _Loader.add_implicit_resolver(f"{_TAG}{_kind}", re.compile(f"^(?:{_pattern})$", re.ASCII), _firsts)


class NotReadable(ValueError):
    """Text that is no YAML document, or not one we read; the line is the one where that shows."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Positions:
    """The lines of a document's fields."""

    root: yaml.Node

    def line(self, path: str) -> int:
        """The line of the field at ``path`` (``spec.args[3]``), or of the innermost one around it that is there."""
        node, line = self.root, self.root.start_mark.line + 1
        for step in _STEP.finditer(path):
            found = _step(node, step)
            if found is None:
                break
            node, line = found
        return line

    def item(self, index: int) -> "Positions":
        """The positions of one item of a List."""
        found = dict(_pairs(self.root)).get("items")
        return Positions(found.value[index]) if isinstance(found, yaml.SequenceNode) else self


NOWHERE = Positions(yaml.MappingNode(f"{_TAG}map", [], yaml.Mark("", 0, 0, 0, None, 0)))
"""The positions of a document that was written in no file."""


def _step(node: yaml.Node, step: re.Match[str]) -> tuple[yaml.Node, int] | None:
    """The node one step down and the line it begins on."""
    if isinstance(node, yaml.SequenceNode) and step["index"]:
        index = int(step["index"])
        items = node.value
        return (items[index], items[index].start_mark.line + 1) if index < len(items) else None
    name = json.loads(step["quoted"]) if step["quoted"] else step["name"] or step["index"]
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == name:
                return value, key.start_mark.line + 1
    return None


def _pairs(node: yaml.Node) -> Iterator[tuple[str, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        yield from ((key.value, value) for key, value in node.value if isinstance(key, yaml.ScalarNode))


def read(text: str) -> Iterator[tuple[object, Positions]]:
    """Every document of ``text`` with the lines of its fields; empty ones are passed over.

    Raises:
        NotReadable: at the document from which on the text cannot be read.
    """
    try:
        loader = _Loader(_without_tabs(text))
        while loader.check_node():
            node = loader.get_node()
            if node is not None and (value := _Values().of(node)) is not None:
                yield value, Positions(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = _QUOTED.sub("…", error.problem or error.context or "")  # what it quotes may be a secret
        raise NotReadable(f"is not YAML: {words}", mark.line + 1 if mark else 1) from None
    except yaml.YAMLError as error:
        raise NotReadable(
            "is not YAML: it holds a character that YAML does not allow", _line_of(text, error)
        ) from error
    except RecursionError:
        raise NotReadable("is nested too deeply", 1) from None


def _without_tabs(text: str) -> str:
    """JSON may be indented with tabs, YAML may not; within JSON's strings there are none."""
    if not text.lstrip().startswith(("{", "[")) or "\t" not in text:
        return text
    try:
        json.loads(text)
    except ValueError:
        return text
    return text.replace("\t", " ")


def _line_of(text: str, error: yaml.YAMLError) -> int:
    position = getattr(error, "position", 0)
    return text.count("\n", 0, position) + 1


class _Values:
    """Turns the nodes of one document into values, each node once however many aliases it has."""

    def __init__(self) -> None:
        self._done: dict[int, tuple[Any, int]] = {}
        self._under_way: set[int] = set()

    def of(self, node: yaml.Node) -> object:
        """The value of the document whose root this is."""
        return self._value(node)[0]

    def _value(self, node: yaml.Node) -> tuple[Any, int]:
        """The value of a node, and how many values it is made of once aliases are written out."""
        if id(node) in self._done:
            return self._done[id(node)]
        if id(node) in self._under_way:
            raise NotReadable("holds an alias to a value that it is itself part of", _line(node))
        self._under_way.add(id(node))
        value, size = self._made(node)
        if size > LARGEST_DOCUMENT:
            raise NotReadable(
                f"holds more than {LARGEST_DOCUMENT} values once its aliases are written out", _line(node)
            )
        self._under_way.remove(id(node))
        self._done[id(node)] = value, size
        return value, size

    def _made(self, node: yaml.Node) -> tuple[Any, int]:
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            items = [self._value(item) for item in node.value]
            return [value for value, _ in items], 1 + sum(size for _, size in items)
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node), 1
        raise NotReadable(f"has a tag that manifests do not have: {node.tag[:64]}", _line(node))

    def _mapping(self, node: yaml.MappingNode) -> tuple[dict[Any, Any], int]:
        own: dict[Any, Any] = {}
        merged: dict[Any, Any] = {}
        total = 1
        for key_node, value_node in node.value:
            value, size = self._value(value_node)
            total += size
            if key_node.tag == f"{_TAG}merge":
                merged = {**_merged(value, key_node), **merged}
                continue
            key = _key(key_node)
            if key in own:
                raise NotReadable(f"holds the name {str(key)[:64]!r} twice in one place", _line(key_node))
            own[key] = value
        return {**merged, **own}, total


def _merged(value: object, key: yaml.Node) -> dict[Any, Any]:
    """What ``<<`` brings in: one mapping, or several of which the first wins."""
    sources = value if isinstance(value, list) else [value]
    result: dict[Any, Any] = {}
    for source in reversed(sources):
        if not isinstance(source, Mapping):
            raise NotReadable("has a << that brings in something else than named fields", _line(key))
        result.update(source)
    return result


def _key(node: yaml.Node) -> Any:  # noqa: ANN401 (a name is what YAML makes of it; the parser objects to all but text)
    if not isinstance(node, yaml.ScalarNode):
        raise NotReadable("has a list or an object where a name belongs", _line(node))
    return _scalar(node)


def _scalar(node: yaml.ScalarNode) -> str | int | float | bool | None:
    text: str = node.value
    match node.tag.removeprefix(_TAG):
        case "str" | "merge":
            return _joined(text)
        case "null":
            return None
        case "bool":
            return text.lower() in {"y", "yes", "true", "on"}
        case "int":
            return _integer(node, text.replace("_", ""))
        case "float":
            return _float(node, text.replace("_", ""))
    raise NotReadable(f"has a tag that manifests do not have: {node.tag[:64]}", _line(node))


def _integer(node: yaml.Node, text: str) -> int:
    """The whole number; a leading 0 means octal, as in C."""
    if len(text) <= LONGEST_NUMBER:
        with suppress(ValueError):
            return int(re.sub(r"^([-+]?)0([0-7]+)$", r"\g<1>0o\g<2>", text), 0)
    raise NotReadable("holds a number that cannot be read", _line(node))


def _float(node: yaml.Node, text: str) -> float:
    try:
        number = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        raise NotReadable("holds a number that cannot be read", _line(node)) from None
    if not math.isfinite(number):
        raise NotReadable("holds a number that JSON does not have", _line(node))
    return number


def _joined(text: str) -> str:
    r"""The text with surrogate pairs made one character: JSON writes those as two escapes (``\ud83d\ude00``)."""
    return re.sub(
        "[\ud800-\udbff][\udc00-\udfff]", lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text
    )


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
