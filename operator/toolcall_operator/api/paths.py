"""Where something stands in a document, in writing: ``spec.args[3]``; names that are no words in quotes."""

import json
import re

Parts = tuple[str | int, ...]
"""The same as names of fields and positions in lists, from the top of the document down."""

LONGEST_NAME = 256

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,255}", re.ASCII)


def written(parts: Parts) -> str:
    """The path of these parts; empty for the document itself."""
    return "".join(map(step, parts)).removeprefix(".")


def step(part: str | int) -> str:
    """One part as it continues a path; a name without end is cut."""
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if _PLAIN_NAME.fullmatch(part) else f"[{json.dumps(part[:LONGEST_NAME])}]"
