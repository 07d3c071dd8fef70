"""A group of commands whose help is in sections, and whose errors are sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from pipelines.commands.exits import MEANINGS, Failed
from warehouse.errors import SankofaError

_REST = "More"


class Grouped(click.Group):
    """Commands under headings; one that is under none is shown at the end."""

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]], **more: Any) -> None:
        super().__init__(*args, **more)
        self._sections = sections

    def invoke(self, ctx: click.Context) -> Any:
        """Run; a failure that we can name ends with its own exit status."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (SankofaError, OSError) as error:
            raise Failed(error) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of their sections."""
        placed = [name for names in self._sections.values() for name in names]
        return sorted(self.commands, key=lambda name: (name not in placed, _place(placed, name)))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, then what an exit status says."""
        shown = [name for name in self.list_commands(ctx) if not self.commands[name].hidden]
        width = max(map(len, shown), default=0)
        placed = {name: title for title, names in self._sections.items() for name in names}
        for title in (*self._sections, _REST):
            lines = [
                (
                    click.style(name.ljust(width), fg="cyan"),
                    self.commands[name].get_short_help_str(90),
                )
                for name in shown
                if placed.get(name, _REST) == title
            ]
            if lines:
                with formatter.section(click.style(title, bold=True)):
                    formatter.write_dl(lines)
        with formatter.section(click.style("Exit status", bold=True)):
            formatter.write_dl([(str(int(each)), words) for each, words in MEANINGS.items()])


def _place(placed: Sequence[str], name: str) -> int:
    return placed.index(name) if name in placed else 0
