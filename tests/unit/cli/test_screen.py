"""How rows are shown: lines for files and pipes, a table for terminals."""

from __future__ import annotations

import io
from typing import TextIO

import pytest
from rich.console import Console

from toolcall_operator.cli import screen
from toolcall_operator.cli.rows import Row


def a_row(name: str = "build", state: str = "Running/Started", *, good: bool | None = None, text: str = "") -> Row:
    return Row(name=name, tool="make", state=state, exit="", duration="", text=text, good=good)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Gone(io.StringIO):
    """A pipe whose reader went away."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(text)


@pytest.mark.parametrize(("stream", "kind"), ((io.StringIO(), screen.Lines), (Terminal(), screen.LiveTable)))
def test_a_terminal_gets_a_table_and_everything_else_lines(stream: TextIO, kind: type) -> None:
    assert isinstance(screen.screen(stream, list), kind)


def test_a_change_is_one_line_and_no_change_is_none() -> None:
    stream = io.StringIO()
    with screen.screen(stream, list) as shown:
        for row in (a_row(), a_row(), a_row("test"), a_row(state="Succeeded/ProcessExited", text="done")):
            shown.changed(row)

    assert stream.getvalue().splitlines() == [
        "build  make  Running/Started",
        "test  make  Running/Started",
        "build  make  Succeeded/ProcessExited  done",
    ]


def test_a_line_counts_no_time_that_goes_on() -> None:
    running = Row(name="build", tool="make", state="Running/Started", exit="", duration="0.00s", text="", good=None)

    assert screen.line(running) == "build  make  Running/Started"


def test_a_reader_that_went_away_does_not_end_the_run() -> None:
    with screen.screen(Gone(), list) as shown:
        shown.changed(a_row())


def test_a_table_shows_markup_as_the_text_it_is() -> None:
    console = Console(file=io.StringIO(), width=120)
    console.print(screen.table([a_row(name="[bold]x[/bold]", text="[link=evil]y")], 120))

    assert "[bold]x[/bold]" in console.file.getvalue()  # type: ignore[attr-defined] # it is the StringIO from above
    assert "[link=evil]y" in console.file.getvalue()  # type: ignore[attr-defined] # the same


def test_what_does_not_fit_on_the_screen_are_calls_that_have_ended() -> None:
    rows = [a_row(f"ended-{number}", good=True) for number in range(50)] + [a_row("running")]

    shown, remark = screen.fitting(rows, 10)

    assert [row.name for row in shown[:2]] == ["running", "ended-0"]
    assert len(shown) == 10
    assert remark == "41 more; 50 of 51 have ended"


def test_the_last_picture_has_every_row() -> None:
    terminal = Terminal()
    rows = [a_row(f"call-{number}", good=True) for number in range(60)]
    with screen.LiveTable(Console(file=terminal, width=120, height=20, force_terminal=True), lambda: rows):
        pass

    assert all(row.name in terminal.getvalue() for row in rows)


def test_a_long_text_is_cut_and_takes_no_room_from_the_other_columns() -> None:
    rows = [a_row("a-rather-long-name-of-a-call", "Failed/ToolCallEnvSecretLike", text="why " * 60), a_row()]
    console = Console(file=io.StringIO(), width=100)
    console.print(screen.table(rows, 100))

    heading, first, second = console.file.getvalue().splitlines()  # type: ignore[attr-defined] # it is the StringIO from above
    assert heading.split() == ["CALL", "TOOL", "STATUS", "EXIT", "TIME", "FIRST", "LINE"]
    assert first.startswith("a-rather-long-name-of-a-call  make  Failed/ToolCallEnvSecretLike  ")
    assert first.endswith("…")
    assert second.startswith("build ")
