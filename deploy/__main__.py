"""``python -m deploy``: start, stop and check a deployment on one machine."""

import sys
from pathlib import Path

import click

from deploy.forms import write_forms
from deploy.local import Deployment
from deploy.processes import PROCESSES
from warehouse.errors import SankofaError

_FOLDER = click.option(
    "--folder",
    default=Path(".sankofa-deployment"),
    type=click.Path(path_type=Path, file_okay=False),
    show_default=True,
    help="Folder with the data, logs and process ids of the deployment.",
)
_NAMES = click.argument("names", nargs=-1, metavar="[PROCESS]…")


@click.group(help=__doc__)
def main() -> None:
    """Run a subcommand."""


@main.command()
@_NAMES
@_FOLDER
@click.option("--any-ports", is_flag=True, help="Take free ports instead of the usual ones.")
def start(names: tuple[str, ...], folder: Path, any_ports: bool) -> None:
    """Start what does not run (default: everything), and wait until it is healthy."""
    Deployment(folder, any_ports).start(names, click.echo)


@main.command()
@_NAMES
@_FOLDER
def stop(names: tuple[str, ...], folder: Path) -> None:
    """Stop processes (default: all)."""
    Deployment(folder).stop(names)


@main.command()
@_FOLDER
def health(folder: Path) -> None:
    """Check every process; exit with 1 if one is stopped or unhealthy."""
    deployment = Deployment(folder)
    states = {process.name: deployment.health(process.name) for process in PROCESSES}
    for name, state in states.items():
        click.echo(f"{name:18} {state}")
    sys.exit(any(state in ("stopped", "unhealthy") for state in states.values()))


@main.command()
@_FOLDER
def environment(folder: Path) -> None:
    """Print the environment for commands: eval "$(python -m deploy environment)"."""
    for name, value in Deployment(folder).environment().items():
        click.echo(f"export {name}='{value}'")


@main.command()
def write() -> None:
    """Write compose.yaml and the systemd units from the table of processes."""
    for file in write_forms():
        click.echo(file)


if __name__ == "__main__":
    try:
        main()
    except SankofaError as error:
        sys.exit(f"deploy: {error}")
