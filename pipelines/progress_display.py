"""A progress bar on standard error for each activity, as long as it goes on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import dagster as dg
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from pipelines.output import progress_console


def progress_bar() -> Progress:
    """Return a progress bar on standard error that disappears when it is done."""
    console = progress_console()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        transient=True,
        console=console,
        # In a file or pipe it would leave empty lines.
        disable=not console.is_terminal,
    )


class ProgressDisplay:
    """Shows the progress of activities, and for what a run waits."""

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

    def show_waiting(self, event: dg.DagsterEvent) -> None:
        """Print a line if an event says that a run waits for another one."""
        if event.event_type != dg.DagsterEventType.ENGINE_EVENT or event.step_key is None:
            return
        pool = event.engine_event_data.metadata.get("pool")
        if pool is not None:
            self._bar.console.print(f"{pool.value}: waiting for another run of it to end")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Clear the display while something else is printed, and begin anew after that."""
        self._bar.stop()
        for task in self._tasks.values():
            self._bar.remove_task(task)
        self._tasks.clear()
        yield
        self._bar.start()
