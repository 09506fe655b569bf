"""Finished objects for programs."""

from __future__ import annotations

import json

import pytest
import yaml

from toolcall_operator.cli import output

TEXT = "\x1b[2J \x9b \u202e grüße\n"
OBJECT = {"kind": "ToolCall", "spec": {"stdin": TEXT}, "status": {"finished": True}}


@pytest.mark.parametrize(("form", "read"), (("json", json.loads), ("yaml", yaml.safe_load)))
def test_what_is_printed_reads_back_as_a_list_of_objects(form: str, read: type) -> None:
    assert read(output.rendered([OBJECT], form)) == {
        "apiVersion": "v1",
        "kind": "List",
        "items": [OBJECT],
    }


@pytest.mark.parametrize("form", output.FORMS)
def test_no_text_can_command_a_terminal(form: str) -> None:
    printed = output.rendered([OBJECT], form)

    assert printed.isascii()
    assert all(char.isprintable() or char == "\n" for char in printed)
