"""Shows the calls of a run as they change: a live table on a terminal, plain lines anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from types import TracebackType
from typing import Protocol, Self, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from toolcall_operator.cli.rows import Row

FRAMES_PER_SECOND = 8
LINES_AROUND = 3
"""Lines of the screen that rows cannot have: the heading, a remark, and the cursor's."""

GAP, LEAST_TEXT = 2, 10
HEADINGS = ("CALL", "TOOL", "STATUS", "EXIT", "TIME", "FIRST LINE")
Rows = Callable[[], Sequence[Row]]


class Screen(AbstractContextManager["Screen"], Protocol):
    """Shows calls while its context is open."""

    def changed(self, row: Row) -> None:
        """Take note that one call changed."""
        ...


def screen(stream: TextIO, rows: Rows) -> Screen:
    """The screen that fits `stream`; `rows` gives every call as it stands."""
    return LiveTable(Console(file=stream), rows) if stream.isatty() else Lines(stream)


class LiveTable:
    """A table drawn anew a few times a second, as high as the screen; at the end, all of it."""

    def __init__(self, console: Console, rows: Rows) -> None:
        self._console = console
        self._rows = rows
        self._over = False
        self._live = Live(console=console, get_renderable=self._picture, refresh_per_second=FRAMES_PER_SECOND)

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        self._live.vertical_overflow = "visible"
        self._live.stop()

    def _picture(self) -> Table:
        rows = self._rows()
        width, height = self._console.size
        remark = ""
        if not self._over:
            rows, remark = fitting(rows, height - LINES_AROUND)
        return table(rows, width, remark)

    def changed(self, row: Row) -> None:
        """Nothing: the next frame shows it."""


class Lines:
    """One line for each change; a reader that went away, or a full disk, does not hinder the run."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def changed(self, row: Row) -> None:
        """Print the row, unless it says what it said before."""
        said = line(row)
        if self._last.get(row.name) == said:
            return
        self._last[row.name] = said
        with suppress(OSError):
            print(said, file=self._stream, flush=True)


def line(row: Row) -> str:
    """The row as plain text."""
    exit_code = f"exit {row.exit}" if row.exit else ""
    duration = "" if row.good is None else row.duration  # a line is printed once: it cannot count
    return "  ".join(cell for cell in (row.name, row.tool, row.state, exit_code, duration, row.text) if cell)


def fitting(rows: Sequence[Row], lines: int) -> tuple[Sequence[Row], str]:
    """Rows for so many lines, those of calls that have not ended first, and a remark on those that are left out."""
    if len(rows) <= lines:
        return rows, ""
    shown = sorted(rows, key=lambda row: row.good is not None)[: max(lines, 1)]
    ended = sum(row.good is not None for row in rows)
    return shown, f"{len(rows) - len(shown)} more; {ended} of {len(rows)} have ended"


def table(rows: Sequence[Row], width: int, remark: str = "") -> Table:
    """The rows under their headings, with a remark below; what is wider than the screen is cut in the last column."""
    cells = [(row.name, row.tool, row.state, row.exit, row.duration) for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(HEADINGS, *cells, strict=False)]
    room = max(width - sum(widths) - GAP * len(widths), LEAST_TEXT)
    drawn = Table(box=None, pad_edge=False, header_style="bold", caption=Text(remark) if remark else None)
    for heading in HEADINGS:
        drawn.add_column(heading, no_wrap=True, justify="right" if heading in {"EXIT", "TIME"} else "left")
    for row, (name, tool, state, *numbers) in zip(rows, cells, strict=True):
        style = {None: "", True: "green", False: "red"}[row.good]
        text = Text(row.text)
        text.truncate(room, overflow="ellipsis")
        drawn.add_row(Text(name), Text(tool), Text(state, style), *map(Text, numbers), text)
    return drawn
