"""``sankofa up``, ``serve`` and ``mcp``: the commands that run servers."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, NoReturn

import click

from pipelines import ports
from warehouse.settings import Settings, read_settings

if TYPE_CHECKING:
    from pipelines.supervisor import Child

_HOST = click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
_WORKERS = click.option(
    "--workers", type=click.IntRange(1), help="Number of processes. Default: one per core."
)
_PORT = click.IntRange(1, 65_535)
_REST, _MCP, _DAGSTER = "the REST service", "the MCP server", "Dagster"


@click.command()
@_HOST
@click.option("--port", default=ports.REST, show_default=True, help="Port of the REST service.")
@_WORKERS
@click.option(
    "--base-url",
    multiple=True,
    help="Public URL of the service, the main one first; may be repeated. "
    "Default: SANKOFA_BASE_URL if it is set, else the address under which a request comes in.",
)
@click.option(
    "--trusted-proxy",
    multiple=True,
    help="IP address or network of a proxy whose X-Forwarded headers are trusted; may be repeated.",
)
@click.option("--upgrade-url", help="Link given to clients with 402 Payment Required.")
def serve(host: str, port: int, base_url: tuple[str, ...], **options: object) -> None:
    """Serve the published build over REST."""
    settings = read_settings(os.environ)
    if not base_url and (configured := settings.explicit("base_url")):
        base_url = (configured,)
    _become(
        settings,
        ["api", "--exports", settings.exports, "--docs", settings.pages],
        {"host": host, "port": port, "base_url": base_url, **options},
    )


@click.command()
@click.option(
    "--stdio",
    is_flag=True,
    help="Serve one agent on this machine over stdio; its API key is SANKOFA_API_KEY.",
)
@_HOST
@click.option("--port", default=ports.MCP, show_default=True, help="Port of the MCP server.")
@_WORKERS
@click.option("--base-url", multiple=True, help="Public URL of the server.")
@click.option("--allowed-host", multiple=True, help="Further Host header to accept.")
@click.option("--allowed-origin", multiple=True, help="Further Origin to accept, for web clients.")
@click.option("--trusted-proxy", multiple=True, help="Proxy whose X-Forwarded headers are trusted.")
@click.option(
    "--exports-url",
    help="URL of the bulk files, for links to them. Default: SANKOFA_EXPORTS_URL. A local one is "
    "given with the host under which the server was reached.",
)
@click.option("--upgrade-url", help="Link given to clients whose tier does not suffice.")
def mcp(stdio: bool, **options: object) -> None:
    """Serve the published build to agents: MCP over HTTP or stdio.

    Options that name URLs, hosts or proxies may be repeated.
    """
    settings = read_settings(os.environ)
    _become(settings, ["mcp_server", *(["--stdio"] if stdio else [])], options)


@click.command()
@_HOST
@click.option(
    "--port", default=ports.REST, show_default=True, type=_PORT, help="Port of the REST service."
)
@click.option("--mcp-port", default=ports.MCP, show_default=True, type=_PORT)
@click.option("--dagster-port", default=ports.DAGSTER, show_default=True, type=_PORT)
@click.option("--mcp/--no-mcp", default=True, help="Run the MCP server.")
@click.option(
    "--dagster/--no-dagster", default=True, help="Run Dagster's web interface and its daemon."
)
def up(host: str, port: int, mcp_port: int, dagster_port: int, mcp: bool, dagster: bool) -> None:
    """Run everything: REST, MCP and Dagster, on sample data if there is none yet.

    A published build is served as it is. If there is none, the pipeline runs first.
    """
    from pipelines.up import ServerUrls, greeting, is_ready, prepare

    settings = read_settings(os.environ)
    mcp = mcp and find_spec("mcp_server.__main__") is not None
    wanted = {_REST: port} | ({_MCP: mcp_port} if mcp else {})
    wanted |= {_DAGSTER: dagster_port} if dagster else {}
    ports.refuse_taken(host, wanted)
    start = time.perf_counter()
    if not is_ready(settings):
        prepare(settings, click.echo)
        click.echo(f"Ready after {time.perf_counter() - start:.1f} s.\n")
    rest_url, mcp_url, dagster_url = (
        ports.url(host, wanted[name]) if name in wanted else None
        for name in (_REST, _MCP, _DAGSTER)
    )
    message = greeting(settings, ServerUrls(str(rest_url), mcp_url, dagster_url))
    environment = {"SANKOFA_HOME": str(settings.home)}
    if mcp_url is not None and not settings.mcp_url:
        environment["SANKOFA_MCP_URL"] = mcp_url
    # Both servers link to each other, at the ports that were chosen here.
    environments = dict.fromkeys(wanted, environment)
    if settings.explicit("base_url") is None:
        environments[_MCP] = {**environment, "SANKOFA_BASE_URL": str(rest_url)}
    children = [
        _child(settings, name, host, server_port, environments[name])
        for name, server_port in wanted.items()
    ]
    _supervise(children, wanted.keys() - {_DAGSTER}, message)


@click.command(hidden=True)
@_HOST
@click.option("--port", default=ports.REST, show_default=True, type=_PORT)
@click.pass_context
def demo(context: click.Context, host: str, port: int) -> None:
    """Run ``sankofa up`` under its former name."""
    context.invoke(up, host=host, port=port)


def _supervise(children: list["Child"], awaited: set[str], message: str) -> None:
    """Run the servers until a signal; print ``message`` once all awaited ones listen."""
    from pipelines.supervisor import supervise

    is_greeted = False

    def greet(listening: set[str]) -> None:
        nonlocal is_greeted
        if not is_greeted and awaited <= listening:
            is_greeted = True
            click.echo(message)

    supervise(children, greet)


def _child(
    settings: Settings, name: str, host: str, port: int, environment: dict[str, str]
) -> "Child":
    from pipelines.dagster_home import create_dagster_home
    from pipelines.supervisor import Child

    listen = ["--host", host, "--port", str(port)]
    if name == _DAGSTER:
        create_dagster_home(settings)
        environment = {**environment, "DAGSTER_HOME": str(settings.dagster)}
        # `dagster dev` warns that a newer command will replace it.
        quiet = ["-W", "ignore", "-m", "dagster", "dev", "--log-level", "warning"]
        command = [sys.executable, *quiet, "-m", "pipelines.definitions", *listen]
        return Child(name, command, host, port, environment)
    subcommand = {_REST: "serve", _MCP: "mcp"}[name]
    command = [sys.executable, "-m", "pipelines.commands.main", subcommand, *listen]
    return Child(name, command, host, port, environment)


def _become(settings: Settings, module: list[str], options: dict[str, object]) -> NoReturn:
    """Replace this process by a server.

    After exec, signals of a supervisor or container reach the server itself, and the modules of
    the pipeline no longer take memory.
    """
    sys.stdout.flush()
    # A store URL can hold a password, which must not show in a list of processes.
    os.environ.update(
        SANKOFA_MARTS=settings.marts, SANKOFA_KEYS=settings.keys, SANKOFA_USAGE=settings.usage
    )
    command = [sys.executable, "-m", *module, *_arguments(options)]
    os.execv(sys.executable, command)  # noqa: S606


def _arguments(options: dict[str, object]) -> Iterator[str]:
    """Yield options as command-line arguments; None is left out, a tuple is repeated."""
    for name, value in options.items():
        values: Iterable[object] = value if isinstance(value, tuple) else (value,)
        for argument in values:
            if argument is not None:
                yield from (f"--{name.replace('_', '-')}", str(argument))
