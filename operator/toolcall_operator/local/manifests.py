"""Manifest files: found, read within bounds, and cut into documents that know on which line each field stands."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolcall_operator.api import parsing
from toolcall_operator.local import yamlnodes
from toolcall_operator.local.findings import Finding
from toolcall_operator.local.yamlnodes import Positions

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
LARGEST_FILE = 32 * 1024 * 1024
STDIN = "-"


@dataclass(frozen=True, slots=True)
class Document:
    """One object as it was written, and where."""

    source: str
    line: int
    raw: Any = field(repr=False)
    positions: Positions = field(repr=False, compare=False)

    def position_of(self, path: str) -> int:
        """The line of the field at ``path``, or of the innermost one around it that is there."""
        return self.positions.line(path)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The documents that could be read, and what stood in the way of the others."""

    documents: tuple[Document, ...] = ()
    findings: tuple[Finding, ...] = ()


def unwritten(source: str, raw: Mapping[str, Any]) -> Document:
    """A document that stands in no file; `source` says where it was found."""
    return Document(source, 1, raw, yamlnodes.NOWHERE)


class Unreadable(ValueError):
    """Some file could not be read or is no YAML; ``findings`` says which, where and why."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__("\n".join(map(str, findings)))
        self.findings = findings


def load(paths: Iterable[str | Path]) -> tuple[Document, ...]:
    """Every document in files, in folders and below (*.yaml, *.yml, *.json, by name), and on standard input (``-``).

    Raises:
        Unreadable: a file cannot be read or is no YAML.
    """
    loaded = read(paths)
    if loaded.findings:
        raise Unreadable(loaded.findings)
    return loaded.documents


def read(paths: Iterable[str | Path]) -> Loaded:
    """The same, but what cannot be read is told beside what can."""
    found = [each for path in dict.fromkeys(map(str, paths)) for each in _at(path)]
    return Loaded(
        tuple(each for each in found if isinstance(each, Document)),
        tuple(each for each in found if isinstance(each, Finding)),
    )


def _at(path: str) -> Iterator[Document | Finding]:
    """What is found at one path: a file, a folder or standard input."""
    if path == STDIN:
        yield from _in_file("<stdin>", None)
    elif not Path(path).is_dir():
        yield from _in_file(path, Path(path))
    elif files := _files_below(path):
        for file in files:
            if file.exists() and not file.is_file():  # a pipe, say, that nobody may ever write to
                yield Finding(str(file), 0, "", "is no file")
            else:
                yield from _in_file(str(file), file)
    else:
        yield Finding(path, 0, "", f"holds no manifests: no file there ends in {', '.join(sorted(SUFFIXES))}")


def _files_below(folder: str) -> list[Path]:
    """The manifest files in a folder and below, by name; links to other folders are not followed."""
    names = (Path(place, name) for place, _, inside in os.walk(folder) for name in inside)
    return sorted(path for path in names if path.suffix in SUFFIXES)


def _in_file(source: str, file: Path | None) -> Iterator[Document | Finding]:
    """The documents of one file, or of standard input; a finding where they end early."""
    try:
        text = _read(file)
    except OSError as error:
        yield Finding(source, 0, "", f"cannot be read: {error.strerror or 'unknown error'}")
    except UnicodeDecodeError as error:
        yield Finding(source, 0, "", f"is not UTF-8 text (byte {error.start})")
    else:
        yield from _in_text(source, text)


def _read(file: Path | None) -> str:
    """The text of a file, or of standard input.

    Raises:
        OSError: it cannot be read, or is too large.
        UnicodeDecodeError: it is not UTF-8.
    """
    with file.open("rb") if file else contextlib.nullcontext(sys.stdin.buffer) as stream:
        content = stream.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise OSError(errno.EFBIG, f"it is larger than {LARGEST_FILE} bytes")
    return content.decode("utf-8-sig")


def _in_text(source: str, text: str) -> Iterator[Document | Finding]:
    try:
        for raw, positions in yamlnodes.read(text):
            yield from _unpacked(source, raw, positions)
    except yamlnodes.NotReadable as error:
        yield Finding(source, error.line, "", str(error))


def _unpacked(source: str, raw: object, positions: Positions) -> Iterator[Document]:
    """The document, or, when it is a List, every item as a document of its own."""
    items = parsing.list_items(raw)
    if items is None:
        yield Document(source, positions.line(""), raw, positions)
        return
    for index, item in enumerate(items):
        yield from _unpacked(source, item, positions.item(index))
