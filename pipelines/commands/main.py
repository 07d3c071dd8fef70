"""The ``sankofa`` command: its subcommands, its help in sections, its error messages."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import click
from click.shell_completion import get_completion_class

from pipelines.commands.actions import actions
from pipelines.commands.builds import builds, publish, rollback
from pipelines.commands.compact import compact
from pipelines.commands.data import ingest, sample
from pipelines.commands.doctor import doctor
from pipelines.commands.exit_status import MEANINGS, CommandError
from pipelines.commands.keys import keys
from pipelines.commands.new import new
from pipelines.commands.quality import quality
from pipelines.commands.quarantine import quarantine
from pipelines.commands.schedules import schedules
from pipelines.commands.serving import demo, mcp, metrics, serve, up
from pipelines.commands.sources import sources
from pipelines.commands.verify import verify
from pipelines.commands.why import why
from pipelines.commands.withhold import erase, release, withheld, withhold
from warehouse.errors import SankofaError, disk_failure
from warehouse.private_folders import close_private
from warehouse.settings import SettingError, read_settings

SECTIONS = {
    "Start": ("up", "doctor", "verify", "completion"),
    "Ingest": ("sample", "sources", "ingest", "quarantine", "compact", "schedules"),
    "Publish": ("publish", "builds", "rollback", "quality", "why"),
    "Withhold": ("withhold", "release", "withheld", "erase"),
    "Serve": ("serve", "mcp", "metrics", "keys", "actions"),
    "Extend": ("new",),
}
_OTHER = "Other"
_SHELLS = {
    "bash": "~/.bashrc",
    "zsh": "~/.zshrc",
    "fish": "~/.config/fish/config.fish",
}


class SectionedGroup(click.Group):
    """A group of commands listed under headings, whose errors are sentences."""

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self._section_of = {name: title for title, names in sections.items() for name in names}
        self._titles = [*sections, _OTHER]

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
        """Return the command names in the order of the sections, then the others."""
        order = list(self._section_of)
        return sorted(
            self.commands, key=lambda name: order.index(name) if name in order else len(order)
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, then the exit statuses."""
        visible = [name for name in self.list_commands(ctx) if not self.commands[name].hidden]
        width = max(map(len, visible), default=0)
        for title in self._titles:
            lines = [
                (
                    click.style(name.ljust(width), fg="cyan"),
                    self.commands[name].get_short_help_str(90),
                )
                for name in visible
                if self._section_of.get(name, _OTHER) == title
            ]
            if lines:
                with formatter.section(click.style(title, bold=True)):
                    formatter.write_dl(lines)
        with formatter.section(click.style("Exit status", bold=True)):
            formatter.write_dl(
                [(str(int(status)), meaning) for status, meaning in MEANINGS.items()]
            )


@click.group(
    cls=SectionedGroup,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="sankofa")
@click.pass_context
def sankofa(context: click.Context) -> None:
    """Point-in-time data for African and emerging markets.

    All data is kept in one folder: .sankofa, or SANKOFA_HOME. `sankofa up` runs everything.
    """
    # `doctor` reports what others can read, and changes nothing.
    if context.invoked_subcommand != doctor.name:
        # A bad setting is reported by the command that needs it.
        with suppress(SettingError):
            close_private(read_settings(os.environ))


@click.command(
    epilog='\b\nFor this shell only:  eval "$(sankofa completion bash)"\n'
    + "\n".join(
        f"For every {shell}:       sankofa completion {shell} >> {file}"
        for shell, file in _SHELLS.items()
    )
)
@click.argument("shell", type=click.Choice(tuple(_SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for SHELL."""
    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(context.find_root().command, {}, "sankofa", "_SANKOFA_COMPLETE").source())


for command in (
    up,
    doctor,
    verify,
    completion,
    sample,
    sources,
    ingest,
    quarantine,
    compact,
    schedules,
    publish,
    builds,
    rollback,
    quality,
    why,
    withhold,
    release,
    withheld,
    erase,
    serve,
    mcp,
    metrics,
    keys,
    actions,
    new,
    demo,
):
    sankofa.add_command(command)


def main() -> None:
    """Run the ``sankofa`` command."""
    sankofa(prog_name="sankofa")


if __name__ == "__main__":
    main()
