"""A progress bar on standard error for each activity, as long as it goes on."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

import click
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from pipelines.output import progress_console


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
