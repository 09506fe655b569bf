"""Finished objects for programs: one List, as JSON or YAML, all ASCII: no terminal takes a text in it for a command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click
import yaml


def rendered(objects: Iterable[Mapping[str, Any]], form: str) -> str:
    """The objects as one document in this form."""
    return FORMS[form]({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def printed(text: str) -> bool:
    """Print on standard output, whole; otherwise say on stderr why not."""
    try:
        click.echo(text, nl=False)
    except OSError as error:
        click.echo(f"Error: the finished objects could not be printed: {error.strerror}", err=True)
        sys.stdout = None  # what is left in its buffer would fail once more at the end of the program
        return False
    return True


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2) + "\n"


def _yaml(document: Mapping[str, Any]) -> str:
    return yaml.safe_dump(document, sort_keys=False, width=1000)


FORMS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {"json": _json, "yaml": _yaml}
