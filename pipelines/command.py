"""The ``sankofa`` command."""

import os
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import NoReturn

import click

from pipelines.keys_command import keys
from pipelines.places import places
from warehouse.errors import SankofaError

_DAY = click.DateTime(["%Y-%m-%d"])


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
@click.argument("sources", nargs=-1)
@click.option("--live/--sample", default=False, help="From the live sources, or the sample world.")
@click.option("--from", "from_", type=_DAY, help="First day, for sources asked by days.")
@click.option("--to", type=_DAY, help="Last day.")
def ingest(
    sources: tuple[str, ...], live: bool, from_: datetime | None, to: datetime | None
) -> None:
    """Bring what SOURCES have into the record; all of them where none is named."""
    from pipelines.terminal import ingest as ingest_in_terminal

    days = tuple(None if day is None else day.date() for day in (from_, to))
    ingest_in_terminal(places(), sources, live, *days)


@sankofa.command()
@click.option(
    "--confirm-loss",
    default="",
    metavar="WHY",
    help="Publish although a source shows much less than before, for the reason given.",
)
def publish(confirm_loss: str) -> None:
    """Derive, audit and publish what is loaded as one build; nothing if the audit fails."""
    from pipelines.run import run_job

    config = {"ops": {"published_build": {"config": {"confirm_loss": confirm_loss}}}}
    said = run_job(places(), "publish", config=config)["published_build"]
    click.echo(f"published as data_version {said['data_version']}")


@sankofa.command()
def builds() -> None:
    """List the builds that are held, the newest first; * marks the one that is read."""
    from warehouse.mart.builds import builds_at

    held = builds_at(places().marts)
    current = held.current()
    for name in reversed(held.names()):
        click.echo(f"{'*' if name == current else ' '} {name}")
    if current is None:
        click.echo("nothing has been published yet; run `sankofa publish`")


@sankofa.command()
@click.argument("data_version", required=False)
def rollback(data_version: str | None) -> None:
    """Let readers see DATA_VERSION again; the build before the current one by default."""
    from pipelines.builds import roll_back

    click.echo(f"serving data_version {roll_back(places(), data_version)}")


@sankofa.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8321, show_default=True)
@click.option("--workers", type=click.IntRange(1), help="Processes. Default: one for each core.")
@click.option(
    "--base-url",
    multiple=True,
    help="Address at which the service is reached, the main one first; may be repeated. "
    "Default: SANKOFA_BASE_URL.",
)
@click.option(
    "--trusted-proxy",
    multiple=True,
    help="Address or network of a proxy whose X-Forwarded headers hold; may be repeated.",
)
@click.option("--upgrade-url", help="Where a 402 sends a client.")
def serve(
    host: str,
    port: int,
    workers: int | None,
    base_url: tuple[str, ...],
    trusted_proxy: tuple[str, ...],
    upgrade_url: str | None,
) -> None:
    """Serve the published build."""
    options = {
        "--workers": () if workers is None else (str(workers),),
        "--base-url": base_url,
        "--trusted-proxy": trusted_proxy,
        "--upgrade-url": () if upgrade_url is None else (upgrade_url,),
    }
    _serve(
        host, port, *(part for name, each in options.items() for v in each for part in (name, v))
    )


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


def _serve(host: str, port: int, *more: str) -> NoReturn:
    """Become the server: a process that never loads what the pipeline needs."""
    here = places()
    sys.stdout.flush()
    # An address can hold a password, which must not stand in a list of processes.
    os.environ.update(SANKOFA_MARTS=here.marts, SANKOFA_KEYS=here.keys, SANKOFA_USAGE=here.usage)
    server = ["-m", "api", "--exports", here.exports, "--host", host, "--port", str(port), *more]
    if "--base-url" not in more:
        # A manifest may have been written for another port: its addresses are ours as well.
        own = [] if "SANKOFA_BASE_URL" in os.environ else [f"http://{host}:{port}"]
        server += [part for base in (*own, here.base_url) for part in ("--base-url", base)]
    os.execv(sys.executable, [sys.executable, *server])  # noqa: S606


sankofa.add_command(keys)


def main() -> None:
    """Run the command; an error of ours is a sentence, not a traceback."""
    try:
        sankofa(standalone_mode=True)
    except SankofaError as error:
        click.echo(f"sankofa: {error}", err=True)
        sys.exit(1)
