"""Output of commands: tables that fit the terminal, or JSON only; progress on stderr."""

import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click
import msgspec
from rich.console import Console
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
