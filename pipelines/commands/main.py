"""The ``sankofa`` command: its subcommands, its help in sections, its error messages."""

import gc
from contextlib import suppress
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from typing import Any

import click
from click.shell_completion import CompletionItem

from pipelines.commands.exit_status import MEANINGS, CommandError
from warehouse.shared.data_files import csv_rows
from warehouse.shared.errors import SankofaError, disk_failure
from warehouse.shared.files import close_private
from warehouse.shared.settings import SettingError, read_settings

# The commands by name: their section of the help, the module of ``pipelines.commands`` that has
# them, and their line in the help. A module is imported when its command is run: the libraries of
# all would take seconds. Not ``__name__``: servers are started with ``python -m``.
COMMANDS = {row["name"]: row for row in csv_rows("pipelines.commands.main", "commands")}


class SectionedGroup(click.Group):
    """The commands, listed under headings and imported when needed; errors are sentences."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn an expected failure into its exit status."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (SankofaError, OSError) as error:
            raise CommandError(error) from error
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            # Databases have errors of their own for a disk that is full or cannot be written.
            words = disk_failure(error)
            if words is None:
                raise
            raise CommandError(SankofaError(words)) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names in the order of the sections."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"pipelines.commands.{COMMANDS[cmd_name]['module']}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin with a text, without importing them."""
        return [
            CompletionItem(name, help=command["summary"])
            for name, command in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, then the exit statuses."""
        width = max(map(len, COMMANDS))
        for title, commands in groupby(COMMANDS.values(), itemgetter("section")):
            with formatter.section(click.style(title, bold=True)):
                formatter.write_dl(
                    [
                        (click.style(command["name"].ljust(width), fg="cyan"), command["summary"])
                        for command in commands
                    ]
                )
        with formatter.section(click.style("Exit status", bold=True)):
            formatter.write_dl(
                [(str(int(status)), meaning) for status, meaning in MEANINGS.items()]
            )


@click.group(cls=SectionedGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sankofa")
@click.pass_context
def sankofa(context: click.Context) -> None:
    """Point-in-time data for African and emerging markets.

    All data is kept in one folder: .sankofa, or SANKOFA_HOME. `sankofa up` runs everything.
    """
    # `doctor` reports what others can read, and changes nothing.
    if context.invoked_subcommand != "doctor":
        # A bad setting is reported by the command that needs it.
        with suppress(SettingError):
            close_private(read_settings())


def main() -> None:
    """Run the ``sankofa`` command."""
    # A search for garbage every 700 objects is a sixth of what it takes to import our libraries,
    # which are never garbage; one every 100,000 is still half a second of a publication.
    gc.set_threshold(1_000_000, 20, 100)
    sankofa(prog_name="sankofa")


if __name__ == "__main__":
    main()
