"""``sankofa up``, ``serve`` and ``mcp``: the commands that run servers."""

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from pipelines import ports
from warehouse.errors import SankofaError
from warehouse.settings import Settings, read_settings

if TYPE_CHECKING:
    from pipelines.progress_display import Steps
    from pipelines.supervisor import Child

_HOST = click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
_WORKERS = click.option(
    "--workers", type=click.IntRange(1), help="Number of processes. Default: one per core."
)
_PORT = click.IntRange(1, 65_535)
_REST, _MCP, _DAGSTER, _METRICS = "the REST service", "the MCP server", "Dagster", "the metrics"
_DAEMON = "Dagster's daemon"
_LOGS = {
    _REST: "rest.log",
    _MCP: "mcp.log",
    _DAGSTER: "dagster.log",
    _METRICS: "metrics.log",
    _DAEMON: "dagster-daemon.log",
}
_LOOPBACK = "127.0.0.1"


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
    ports.refuse_taken({_REST: ports.Address(host, port)})
    if not base_url and (configured := settings.explicit("base_url")):
        base_url = (configured,)
    _become(
        settings,
        ["api", "--exports", settings.exports],
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
def mcp(stdio: bool, host: str, port: int, **options: object) -> None:
    """Serve the published build to agents: MCP over HTTP or stdio.

    Options that name URLs, hosts or proxies may be repeated.
    """
    settings = read_settings(os.environ)
    if not stdio:
        ports.refuse_taken({_MCP: ports.Address(host, port)})
    _become(
        settings,
        ["mcp_server", *(["--stdio"] if stdio else [])],
        {"host": host, "port": port, **options},
    )


@click.command()
@_HOST
@click.option(
    "--port", default=ports.REST, show_default=True, type=_PORT, help="Port of the REST service."
)
@click.option("--mcp-port", default=ports.MCP, show_default=True, type=_PORT)
@click.option("--dagster-port", default=ports.DAGSTER, show_default=True, type=_PORT)
@click.option(
    "--dagster-host",
    default=_LOOPBACK,
    show_default=True,
    help="Address on which Dagster listens, whatever --host is: it asks for no password. On any "
    "other than a loopback address its page is read-only.",
)
@click.option(
    "--metrics-port",
    type=_PORT,
    help="Port for Prometheus on the loopback address. Default: metrics are not served.",
)
@click.option("--mcp/--no-mcp", default=True, help="Run the MCP server.")
@click.option(
    "--dagster/--no-dagster", default=True, help="Run Dagster's web interface and its daemon."
)
@click.option(
    "--verbose", is_flag=True, help="Also show here what the servers write to their log files."
)
def up(
    host: str,
    port: int,
    mcp_port: int,
    dagster_port: int,
    dagster_host: str,
    metrics_port: int | None,
    mcp: bool,
    dagster: bool,
    verbose: bool,
) -> None:
    """Run everything: REST, MCP and Dagster, on sample data if there is none yet.

    A published build is served as it is. If there is none, the pipeline runs first. The servers
    write their logs to files in `logs` in the home.
    """
    from pipelines.progress_display import Steps
    from pipelines.up import ServerUrls, greeting, is_ready, prepare
    from warehouse.record.landing import open_landing
    from warehouse.record.worlds import require_withheld_key

    settings = read_settings(os.environ)
    mcp = mcp and find_spec("mcp_server.__main__") is not None
    wanted = {_REST: ports.Address(host, port)}
    if mcp:
        wanted[_MCP] = ports.Address(host, mcp_port, "--mcp-port")
    if dagster:
        wanted[_DAGSTER] = ports.Address(dagster_host, dagster_port, "--dagster-port")
    if metrics_port is not None:
        wanted[_METRICS] = ports.Address(_LOOPBACK, metrics_port, "--metrics-port")
    ports.refuse_taken(wanted)
    steps = Steps(bars=not verbose)
    steps.total = 1
    require_withheld_key(settings.withheld_key, open_landing(settings).world())
    if not is_ready(settings):
        prepare(settings, steps)
    rest_url, mcp_url, dagster_url, metrics_url = (
        ports.url(wanted[name].host, wanted[name].port) if name in wanted else None
        for name in (_REST, _MCP, _DAGSTER, _METRICS)
    )
    message = greeting(settings, ServerUrls(str(rest_url), mcp_url, dagster_url, metrics_url))
    environment = {"SANKOFA_HOME": str(settings.home)}
    if mcp_url is not None and not settings.mcp_url:
        environment["SANKOFA_MCP_URL"] = mcp_url
    # Both servers link to each other, at the ports that were chosen here.
    environments = dict.fromkeys(wanted, environment)
    if settings.explicit("base_url") is None:
        environments[_MCP] = {**environment, "SANKOFA_BASE_URL": str(rest_url)}
    children = [
        child
        for name, address in wanted.items()
        for child in _children(settings, name, address, environments[name])
    ]
    _supervise(settings, children, {_REST, _MCP} & wanted.keys(), message, steps, verbose=verbose)


@click.command()
@_HOST
@click.option("--port", default=ports.METRICS, show_default=True, type=_PORT)
def metrics(host: str, port: int) -> None:
    """Serve the metrics of this machine to Prometheus.

    REST, MCP, ingest and publish write them to the home. There is no password: leave the address
    a loopback one, or one that only Prometheus reaches.
    """
    from threading import Event

    from warehouse.metrics.exposition import serve_metrics
    from warehouse.read.mart import Mart
    from warehouse.server_log import log_to_stderr

    settings = read_settings(os.environ)
    ports.refuse_taken({_METRICS: ports.Address(host, port)})
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    log_to_stderr()
    try:
        serve_metrics(Path(settings.metrics), Mart(settings.marts), host, port, stop)
    except OSError as error:
        raise SankofaError(
            f"cannot serve at {host}:{port}: {error.strerror or error}; choose another --port"
        ) from error


@click.command(hidden=True)
@_HOST
@click.option("--port", default=ports.REST, show_default=True, type=_PORT)
@click.pass_context
def demo(context: click.Context, host: str, port: int) -> None:
    """Run ``sankofa up`` under its former name."""
    context.invoke(up, host=host, port=port)


def _supervise(
    settings: Settings,
    children: list["Child"],
    awaited: set[str],
    message: str,
    steps: "Steps",
    *,
    verbose: bool,
) -> None:
    """Run the servers until a signal; print ``message`` once all awaited ones listen."""
    from pipelines.supervisor import Logs, supervise

    is_greeted = is_dagster_named = False

    def greet(listening: set[str]) -> None:
        nonlocal is_greeted, is_dagster_named
        # Nobody may be there to read it.
        with suppress(OSError):
            if not is_greeted:
                step.show(len(awaited & listening), len(awaited))
            if not is_greeted and awaited <= listening:
                is_greeted = True
                starting.close()
                click.echo(f"\n{message}")
            # It takes longer than the others, and nobody waits for it.
            if is_greeted and not is_dagster_named and _DAGSTER in listening:
                is_dagster_named = True
                click.echo("Dagster is up.")

    def say_stopping() -> None:
        with suppress(OSError):
            click.echo("\nStopping the servers …")

    logs = Logs(settings.logs, settings.log_mb * 1_000_000, on_stderr=verbose)
    with ExitStack() as starting:
        step = starting.enter_context(steps.step("Starting the servers"))
        supervise(children, greet, logs, say_stopping)


def _children(
    settings: Settings, name: str, address: ports.Address, environment: dict[str, str]
) -> list["Child"]:
    from pipelines.supervisor import Child

    host, port = address.host, address.port
    listen = ["--host", host, "--port", str(port)]
    if name == _DAGSTER:
        return _dagster(settings, address, environment)
    subcommand = {_REST: "serve", _MCP: "mcp", _METRICS: "metrics"}[name]
    command = [sys.executable, "-m", "pipelines.commands.main", subcommand, *listen]
    return [Child(name, command, host, port, environment, _LOGS[name])]


def _dagster(
    settings: Settings, address: ports.Address, environment: dict[str, str]
) -> list["Child"]:
    from pipelines.dagster_home import create_dagster_home, killed_runs
    from pipelines.supervisor import Child

    create_dagster_home(settings)
    if killed_runs(settings):
        from pipelines.jobs import end_killed_runs

        end_killed_runs(settings)
    environment = {**environment, "DAGSTER_HOME": str(settings.dagster)}
    definitions = ["-m", "pipelines.definitions", "--log-level", "warning"]
    listen = ["--host", address.host, "--port", str(address.port)]
    # `dagster dev` warns that a newer command will replace it.
    python = [sys.executable, "-W", "ignore", "-m"]
    if ports.is_loopback(address.host):
        command = [*python, "dagster", "dev", *definitions, *listen]
        return [Child(_DAGSTER, command, address.host, address.port, environment, _LOGS[_DAGSTER])]
    # `dagster dev` has no read-only page: its two parts have.
    page = [*python, "dagster_webserver", *definitions, *listen, "--read-only"]
    daemon = [str(Path(sys.executable).with_name("dagster-daemon")), "run", *definitions]
    return [
        Child(_DAGSTER, page, address.host, address.port, environment, _LOGS[_DAGSTER]),
        Child(_DAEMON, daemon, address.host, None, environment, _LOGS[_DAEMON]),
    ]


def _become(settings: Settings, module: list[str], options: dict[str, object]) -> NoReturn:
    """Replace this process by a server.

    After exec, signals of a supervisor or container reach the server itself, and the modules of
    the pipeline no longer take memory.
    """
    sys.stdout.flush()
    # A store URL can hold a password, which must not show in a list of processes.
    os.environ.update(
        SANKOFA_MARTS=settings.marts,
        SANKOFA_CONTROL=settings.control,
        SANKOFA_USAGE=settings.usage,
        SANKOFA_METRICS=settings.metrics,
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
