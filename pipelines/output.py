"""Output of commands: tables that fit the terminal, or JSON only; progress on stderr."""

import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import click
import msgspec
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


@dataclass(frozen=True)
class Column:
    """A column of a table; ``whole`` is never folded, ``right`` is for numbers.

    ``wide`` is left out of a narrow terminal, where it would fold the others beyond recognition.
    """

    title: str
    right: bool = False
    whole: bool = False
    wide: bool = False


Cell = str | Styled


def print_json(value: Any) -> None:
    """Print a value as JSON; decimals keep their digits, dates and times are ISO 8601."""
    encoded = msgspec.json.Encoder(decimal_format="number", enc_hook=str).encode(value)
    click.echo(msgspec.json.format(encoded, indent=2).decode())


def print_table(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> None:
    """Print rows under their titles, folded to the width of the terminal."""
    width = terminal_width()
    is_wide = width is None or width >= _WIDE
    shown = [number for number, column in enumerate(columns) if is_wide or not column.wide]
    left_out = [column.title for column in columns if column.wide and not is_wide]
    columns = [columns[number] for number in shown]
    titled = any(column.title for column in columns)
    padding = (0, 2, 0, 0)
    table = Table(
        box=None, pad_edge=False, padding=padding, header_style="bold", show_header=titled
    )
    for column in columns:
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=column.whole,
            overflow="fold",
        )
    for row in rows:
        table.add_row(
            *(
                Text(_plain(cell.text), cell.style)
                if isinstance(cell, Styled)
                else Text(_plain(cell))
                for cell in (row[number] for number in shown)
            )
        )
    out = console()
    out.print(table)
    if left_out:
        words = f"not shown: {', '.join(left_out)}; see --json, or a terminal of {_WIDE} columns"
        out.print(Text(words, "dim"))


def _plain(text: str) -> str:
    """Replace control characters: text from sources is printed too."""
    return _CONTROL_CHARACTERS.sub("\ufffd", text)


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
