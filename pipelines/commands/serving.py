"""``sankofa up`` and ``sankofa serve``: what answers."""

import os
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, NoReturn

import click

from pipelines import ports
from warehouse.settings import Settings, read_settings

if TYPE_CHECKING:
    from pipelines.supervisor import Child

_HOST = click.option("--host", default="127.0.0.1", show_default=True)
_PORT = click.IntRange(1, 65_535)
_REST, _MCP, _DAGSTER = "the REST service", "the MCP server", "Dagster"


@click.command()
@_HOST
@click.option("--port", default=ports.REST, show_default=True, help="Of the REST service.")
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
    """Serve the published build over REST."""
    options = {
        "--workers": () if workers is None else (str(workers),),
        "--base-url": base_url,
        "--trusted-proxy": trusted_proxy,
        "--upgrade-url": () if upgrade_url is None else (upgrade_url,),
    }
    _serve(
        host, port, *(part for name, each in options.items() for v in each for part in (name, v))
    )


@click.command()
@_HOST
@click.option(
    "--port", default=ports.REST, show_default=True, type=_PORT, help="Of the REST service."
)
@click.option("--mcp-port", default=ports.MCP, show_default=True, type=_PORT)
@click.option("--dagster-port", default=ports.DAGSTER, show_default=True, type=_PORT)
@click.option("--mcp/--no-mcp", default=True, help="Run the MCP server.")
@click.option("--dagster/--no-dagster", default=True, help="Run Dagster's page and its daemon.")
def up(host: str, port: int, mcp_port: int, dagster_port: int, mcp: bool, dagster: bool) -> None:
    """Run everything: REST, MCP and Dagster; on the sample world if nothing is there.

    What is published is served as it is. If nothing is, the pipeline runs first.
    """
    from pipelines.up import Addresses, greeting, is_ready, prepare

    settings = read_settings(os.environ)
    mcp = mcp and find_spec("mcp_server.__main__") is not None
    wanted = {_REST: port} | ({_MCP: mcp_port} if mcp else {})
    wanted |= {_DAGSTER: dagster_port} if dagster else {}
    ports.refuse_taken(host, wanted)
    start = time.perf_counter()
    if not is_ready(settings):
        prepare(settings, click.echo)
        click.echo(f"Ready after {time.perf_counter() - start:.1f} s.\n")
    rest, mcp_at, page = (
        ports.url(host, wanted[name]) if name in wanted else None
        for name in (_REST, _MCP, _DAGSTER)
    )
    if mcp_at is not None:
        os.environ.setdefault("SANKOFA_MCP_URL", mcp_at)
    words = greeting(settings, Addresses(str(rest), mcp_at, page))
    _run(settings, host, wanted, words)


@click.command(hidden=True)
@_HOST
@click.option("--port", default=ports.REST, show_default=True, type=_PORT)
@click.pass_context
def demo(context: click.Context, host: str, port: int) -> None:
    """Do what ``sankofa up`` does, under the name it had before."""
    context.invoke(up, host=host, port=port)


def _run(settings: Settings, host: str, wanted: dict[str, int], words: str) -> None:
    """Run the servers until they are told to stop; greet once those that answer people do."""
    from pipelines.supervisor import supervise

    greeted = False

    def greet(listening: set[str]) -> None:
        nonlocal greeted
        if not greeted and wanted.keys() - {_DAGSTER} <= listening:
            greeted = True
            click.echo(words)

    supervise([_child(settings, name, host, port) for name, port in wanted.items()], greet)


def _child(settings: Settings, name: str, host: str, port: int) -> "Child":
    from pipelines.dagster_home import settle_dagster_home
    from pipelines.supervisor import Child

    at = ["--host", host, "--port", str(port)]
    ours = [sys.executable, "-m", "pipelines.command"]
    environment = {"SANKOFA_HOME": str(settings.home)}
    if name == _DAGSTER:
        settle_dagster_home(settings)
        environment["DAGSTER_HOME"] = str(settings.dagster)
        # It warns of itself that a newer command is to come.
        quiet = ["-W", "ignore", "-m", "dagster", "dev", "--log-level", "warning"]
        words = [sys.executable, *quiet, "-m", "pipelines.definitions", *at]
        return Child(name, words, host, port, environment)
    return Child(name, [*ours, {_REST: "serve", _MCP: "mcp"}[name], *at], host, port, environment)


def _serve(host: str, port: int, *more: str) -> NoReturn:
    """Become the server: a process that never loads what the pipeline needs."""
    settings = read_settings(os.environ)
    sys.stdout.flush()
    # An address can hold a password, which must not stand in a list of processes.
    os.environ.update(
        SANKOFA_MARTS=settings.marts, SANKOFA_KEYS=settings.keys, SANKOFA_USAGE=settings.usage
    )
    server = ["-m", "api", "--exports", settings.exports, "--docs", str(settings.docs)]
    server += ["--host", host, "--port", str(port), *more]
    if "--base-url" not in more:
        # A manifest may have been written for another port: its addresses are ours as well.
        anywhere = host in ("0.0.0.0", "::", "")  # noqa: S104
        told = anywhere or "SANKOFA_BASE_URL" in os.environ
        own = [] if told else [f"http://{host}:{port}"]
        server += [part for base in (*own, settings.base_url) for part in ("--base-url", base)]
    os.execv(sys.executable, [sys.executable, *server])  # noqa: S606
