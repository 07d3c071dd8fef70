"""The ``sankofa`` command: every part of it by name."""

import click

from pipelines.commands.builds import builds, publish, rollback
from pipelines.commands.completion import completion
from pipelines.commands.data import ingest, sample
from pipelines.commands.doctor import doctor
from pipelines.commands.grouped import Grouped
from pipelines.commands.keys import keys
from pipelines.commands.mcp import mcp
from pipelines.commands.quality import quality
from pipelines.commands.quarantine import quarantine
from pipelines.commands.serving import demo, serve, up

SECTIONS = {
    "Begin": ("up", "doctor", "completion"),
    "Bring in": ("sample", "ingest", "quarantine"),
    "Publish": ("publish", "builds", "rollback", "quality"),
    "Serve": ("serve", "mcp", "keys"),
}


@click.group(
    cls=Grouped,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="sankofa")
def sankofa() -> None:
    """What was knowable on any past day, for African and emerging markets.

    Everything lies in one folder, .sankofa or SANKOFA_HOME. `sankofa up` is all of it at once.
    """


for command in (
    up,
    doctor,
    completion,
    sample,
    ingest,
    quarantine,
    publish,
    builds,
    rollback,
    quality,
    serve,
    mcp,
    keys,
    demo,
):
    sankofa.add_command(command)


def main() -> None:
    """Run the command."""
    sankofa(prog_name="sankofa")


if __name__ == "__main__":
    main()
