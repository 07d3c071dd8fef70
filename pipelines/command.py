"""The ``sankofa`` command."""

import os
import sys
import time
from pathlib import Path
from typing import NoReturn

import click

from pipelines.places import places
from warehouse.errors import SankofaError


@click.group()
@click.version_option(package_name="sankofa")
def sankofa() -> None:
    """What was knowable on any past day, for African and emerging markets."""


@sankofa.command()
@click.option("--scale", default=1, show_default=True, type=click.IntRange(1, 10_000))
@click.option("--seed", default=7, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), help="Default: sample/ in the home.")
def sample(scale: int, seed: int, folder: Path | None) -> None:
    """Write the sample world: fictional documents in the formats of the real sources."""
    from assets.sample.world import write_world

    target = folder or places().sample
    counts = write_world(target, scale, seed)
    for name, number in counts.items():
        click.echo(f"{name:32} {number:>10,}")
    click.echo(f"written to {target}")


@sankofa.command()
def ingest() -> None:
    """Bring what every source has into the record."""
    _show("ingest")


@sankofa.command()
def publish() -> None:
    """Publish what is loaded as one build."""
    _show("publish")


@sankofa.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8321, show_default=True)
def serve(host: str, port: int) -> None:
    """Serve the published build."""
    _serve(host, port)


@sankofa.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8321, show_default=True)
def demo(host: str, port: int) -> None:
    """Build the sample world, run the pipeline, publish and serve; what is there is kept."""
    from pipelines.demo import greeting, prepare

    here = places()
    start = time.perf_counter()
    prepare(here, click.echo)
    click.echo(f"Ready after {time.perf_counter() - start:.1f} s.\n")
    click.echo(greeting(here, f"http://{host}:{port}"))
    _serve(host, port)


def _serve(host: str, port: int) -> NoReturn:
    """Become the server: a process that never loads what the pipeline needs."""
    here = places()
    sys.stdout.flush()
    server = ["-m", "api", "--marts", str(here.marts), "--keys", str(here.keys)]
    os.execv(sys.executable, [sys.executable, *server, "--host", host, "--port", str(port)])  # noqa: S606


def _show(job: str) -> None:
    from pipelines.run import run_job

    for asset, said in run_job(places(), job).items():
        told = ", ".join(f"{name} {value}" for name, value in said.items())
        click.echo(f"{asset:18} {told}")


def main() -> None:
    """Run the command; an error of ours is a sentence, not a traceback."""
    try:
        sankofa(standalone_mode=True)
    except SankofaError as error:
        click.echo(f"sankofa: {error}", err=True)
        sys.exit(1)
