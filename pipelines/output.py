"""Output of commands: tables that fit the terminal, or JSON only; progress on stderr."""

import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Self, TypeVar

import click
import msgspec
from pydantic import BaseModel
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

# Output to a file or pipe is never cut or folded.
_UNBOUNDED = 100_000
# From this width on a table has all its columns; 80 is what most terminals begin with.
_WIDE = 120
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON only, for scripts.")


@dataclass(frozen=True)
class Styled:
    """A cell with a colour of its own."""

    text: str
    style: str


Cell = str | Styled
Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a table and its cell in a row; ``whole`` is never folded, ``right`` for numbers.

    ``wide`` is left out of a narrow terminal, where it would fold the others beyond recognition.
    """

    title: str
    cell: Callable[[Row], Cell]
    right: bool = False
    whole: bool = False
    wide: bool = False


def print_json(value: Any) -> None:
    """Print a value as JSON; decimals keep their digits, dates and times are ISO 8601."""
    encoded = msgspec.json.Encoder(decimal_format="number", enc_hook=_plain).encode(value)
    click.echo(msgspec.json.format(encoded, indent=2).decode())


def _plain(value: object) -> object:
    return value.model_dump() if isinstance(value, BaseModel) else str(value)


def print_rows(rows: Sequence[Row], as_json: bool, nothing: str, *columns: Column[Row]) -> None:
    """Print rows as JSON or as a table; ``nothing`` is said where a table would have none."""
    if as_json:
        print_json(rows)
    elif rows:
        print_table(rows, *columns)
    else:
        click.echo(nothing)


def print_table(rows: Iterable[Row], *columns: Column[Row]) -> None:
    """Print rows under their titles, folded to the width of the terminal."""
    width = terminal_width()
    is_wide = width is None or width >= _WIDE
    shown = [column for column in columns if is_wide or not column.wide]
    left_out = [column.title for column in columns if column not in shown]
    titled = any(column.title for column in shown)
    padding = (0, 2, 0, 0)
    table = Table(
        box=None, pad_edge=False, padding=padding, header_style="bold", show_header=titled
    )
    for column in shown:
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=column.whole,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(_text(column.cell(row)) for column in shown))
    out = console()
    out.print(table)
    if left_out:
        words = f"not shown: {', '.join(left_out)}; see --json, or a terminal of {_WIDE} columns"
        out.print(Text(words, "dim"))


def moment(value: datetime | None) -> str:
    """Return a moment to the minute; nothing for None."""
    return "" if value is None else f"{value:%Y-%m-%d %H:%M}"


def number(value: int | None) -> str:
    """Return a number with commas; nothing for None."""
    return "" if value is None else f"{value:,}"


def print_pairs(pairs: Mapping[str, str | None]) -> None:
    """Print names with their values, but those without one."""
    print_table(
        [(name, value) for name, value in pairs.items() if value],
        Column("", lambda pair: pair[0], whole=True),
        Column("", lambda pair: pair[1]),
    )


def print_counts(counts: Mapping[str, int], what: str, number: str, *, whole: bool = False) -> None:
    """Print how many there are of each, under two titles."""
    print_table(
        counts.items(),
        Column(what, lambda count: count[0], whole=whole),
        Column(number, lambda count: f"{count[1]:,}", right=True),
    )


def _text(cell: Cell) -> Text:
    styled = cell if isinstance(cell, Styled) else Styled(cell, "")
    # Text from sources is printed too: control characters are replaced.
    return Text(_CONTROL_CHARACTERS.sub("\ufffd", styled.text), styled.style)


def terminal_width() -> int | None:
    """Return the width of the terminal; None if the output goes to a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def console() -> Any:
    """Return a console on standard output, as wide as the terminal if there is one."""
    width = terminal_width()
    return Console(width=width or _UNBOUNDED, highlight=False, soft_wrap=width is None)


def progress_console() -> Any:
    """Return a console on standard error, which scripts do not parse."""
    return Console(stderr=True, highlight=False)


class _DoneColumn(MofNCompleteColumn):
    """How much is done of how much; nothing while the total is not known."""

    def render(self, task: Task) -> Text:
        return Text() if task.total is None else super().render(task)


def progress_bar(*, shown: bool = True) -> Progress:
    """Return a progress bar on standard error that disappears when it is done."""
    console = progress_console()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        _DoneColumn(),
        TimeElapsedColumn(),
        transient=True,
        console=console,
        # In a file or pipe it would leave empty lines.
        disable=not (shown and console.is_terminal),
    )


class ProgressDisplay:
    """Shows the progress of activities."""

    def __init__(self) -> None:
        self._bar, self._tasks = progress_bar(), dict[str, TaskID]()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, activity: str, done: int, total: int | None) -> None:
        """Show how much of an activity is done."""
        if activity not in self._tasks:
            self._tasks[activity] = self._bar.add_task(activity, total=None)
        self._bar.update(self._tasks[activity], completed=done, total=total)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Clear the display while something else is printed, and begin anew after that."""
        self._bar.stop()
        for task in self._tasks.values():
            self._bar.remove_task(task)
        self._tasks.clear()
        yield
        self._bar.start()


class Steps:
    """The steps of a long command: a bar as long as one runs, and a line that stays after it.

    Without a terminal, or with ``bars=False`` where something else is written to it, a line at the
    beginning of each step takes the place of the bar. ``total`` is how many steps are expected.
    """

    def __init__(self, say: Callable[[str], object] = click.echo, *, bars: bool = True) -> None:
        self._say, self._bars, self.total, self._number = say, bars, 0, 0

    @contextmanager
    def step(self, title: str) -> Iterator["Step"]:
        """Run a step: show what it reports, then how long it took and what it noted."""
        self._number += 1
        numbered = f"[{self._number}/{max(self.total, self._number)}] {title}"
        bar, started = progress_bar(shown=self._bars), time.perf_counter()
        if bar.disable:
            self._say(f"{numbered} …")
        step = Step(bar, bar.add_task(numbered, total=None))
        with bar:
            yield step
        seconds = f"{time.perf_counter() - started:.1f} s"
        self._say(f"      done in {seconds}" if bar.disable else f"{numbered}: {seconds}")
        for note in step.notes:
            self._say(f"      {note}")


class Step:
    """A step that runs."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar, self._task, self.notes = bar, task, list[str]()

    def show(self, done: int, total: int) -> None:
        """Show how much is done."""
        self._bar.update(self._task, completed=done, total=total)

    def note(self, text: str) -> None:
        """Print a line once the step is done."""
        self.notes.append(text)
