"""The processes of a deployment: command, environment and health check of each, declared once.

The compose file and the systemd units are written from this table (``python -m deploy write``), and
``python -m deploy start`` starts the same set on one machine. Words in braces are filled in by each
form: ``{data}`` is the folder of a process, ``{listen}`` the address on which it listens, and
``{postgres.host}``, ``{postgres.port}`` where another one is reached.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

# The image of deploy/Dockerfile: our code, Dagster, Celery, PySpark and a Java runtime.
OURS = "sankofa"
BUCKET = "sankofa"


@dataclass(frozen=True)
class Health:
    """A health check: a path that answers 200 over HTTP, or a command that exits with 0."""

    path: str = ""
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class StandIn:
    """What a machine without the real program runs instead, to try things out."""

    command: tuple[str, ...]
    health: Health
    loses: str


@dataclass(frozen=True)
class Image:
    """What runs a process in a container, where that is not our own image."""

    name: str
    command: tuple[str, ...] = ()
    health: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    data: str = "/data"


@dataclass(frozen=True)
class Process:
    """One process of a deployment.

    ``provides`` is the environment that all others get if it runs; without it they use files of the
    home. ``requires`` are processes without which it is left out, ``modules`` and ``programs`` what
    must be installed. ``beyond_loopback`` are further words of the command where it listens on an
    address that others can reach. ``prepare`` runs before every start and changes nothing the
    second time. ``once``: it does its work and ends. ``port`` is the one that the health check
    asks, ``rpc_port`` another one.
    """

    name: str
    what: str
    command: tuple[str, ...]
    health: Health = Health()
    port: int = 0
    after: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    rpc_port: int = 0
    beyond_loopback: tuple[str, ...] = ()
    provides: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: tuple[str, ...] = ()
    once: bool = False
    stand_in: StandIn | None = None
    image: Image | None = None


_STORES = ("postgres", "keys", "usage", "bucket")
_DAGSTER_HOME = ("python", "-m", "pipelines.dagster_home")


def _redis(name: Literal["keys", "usage"], what: str, port: int, flushed: str) -> Process:
    def command(program: str) -> tuple[str, ...]:
        words = f"{program} --port {{{name}.port}} --bind {{listen}} --dir {{data}} --save"
        return (*words.split(), "", "--appendonly", "yes", "--appendfsync", flushed)

    ping = ("-h", f"{{{name}.host}}", "-p", f"{{{name}.port}}", "ping")
    return Process(
        name,
        what,
        command("redis-server"),
        Health(command=("redis-cli", *ping)),
        port,
        modules=("redis",),
        programs=("redis-cli",),
        provides={f"SANKOFA_{name.upper()}": f"redis://{{{name}.host}}:{{{name}.port}}/0"},
        image=Image(
            "docker.io/valkey/valkey:8-alpine", command("valkey-server"), ("valkey-cli", *ping)
        ),
    )


def _rest(number: int) -> Process:
    name = f"rest-{number}"
    return Process(
        name,
        "REST: the published build over HTTP",
        ("sankofa", "serve", "--host", "{listen}", "--port", f"{{{name}.port}}"),
        Health("/health"),
        8320 + number,
        _STORES,
    )


def _mcp(number: int) -> Process:
    name = f"mcp-{number}"
    return Process(
        name,
        "MCP: the published build for agents",
        ("sankofa", "mcp", "--host", "{listen}", "--port", f"{{{name}.port}}"),
        Health("/health"),
        8330 + number,
        _STORES,
    )


def _spark_worker(number: int) -> Process:
    name = f"spark-worker-{number}"
    worker = "spark-class org.apache.spark.deploy.worker.Worker --work-dir {data}"
    own = f"--host {{{name}.host}} --webui-port {{{name}.port}}"
    return Process(
        name,
        "Spark worker: runs the steps of a publication",
        (*f"{worker} {own} spark://{{spark.host}}:{{spark.rpc_port}}".split(),),
        Health("/json/"),
        8090 + number,
        requires=("spark",),
        environment={"SPARK_DAEMON_MEMORY": "256m"},
    )


def _dagster_worker(number: int) -> Process:
    name = f"dagster-worker-{number}"
    app = "celery -A pipelines.celery_worker"
    return Process(
        name,
        "Celery worker: executes the steps of Dagster's runs",
        (*f"{app} worker -Q dagster --concurrency 1 -n {name}@sankofa --loglevel WARNING".split(),),
        # By broker and not by app: that would import Dagster for every check.
        Health(
            command=(
                *["celery", "-b", "redis://{usage.host}:{usage.port}/1"],
                *f"inspect ping -t 5 -d {name}@sankofa".split(),
            )
        ),
        after=_STORES,
        requires=("usage",),
        modules=("dagster_celery",),
        provides={"SANKOFA_EXECUTOR": "redis://{usage.host}:{usage.port}/1"},
        prepare=_DAGSTER_HOME,
    )


PROCESSES = (
    Process(
        "postgres",
        "PostgreSQL: the builds that are served, and Dagster's runs",
        ("postgres", "-D", "{data}", "-h", "{listen}", "-p", "{postgres.port}", "-k", ""),
        Health(command=("pg_isready", "-h", "{postgres.host}", "-p", "{postgres.port}")),
        5432,
        modules=("adbc_driver_postgresql", "dagster_postgres", "psycopg"),
        programs=("initdb", "pg_isready"),
        provides={
            # The password is in PGPASSWORD, which every client of PostgreSQL reads.
            "SANKOFA_MARTS": "postgresql://sankofa@{postgres.host}:{postgres.port}/sankofa",
            "SANKOFA_RUNS": "postgresql+psycopg2://sankofa@{postgres.host}:{postgres.port}/dagster",
        },
        prepare=("sh", "{deploy}/prepare-postgres.sh", "{data}"),
        image=Image(
            "docker.io/library/postgres:17-alpine",
            health=("pg_isready", "-U", "sankofa"),
            environment={
                "POSTGRES_USER": "sankofa",
                "POSTGRES_DB": "sankofa",
                "POSTGRES_PASSWORD": "${PGPASSWORD:?}",
            },
            data="/var/lib/postgresql/data",
        ),
    ),
    _redis("keys", "Redis: the API keys", 6379, "always"),
    _redis("usage", "Redis: the usage counters, and the queue of Celery", 6380, "everysec"),
    Process(
        "object-store",
        "S3-compatible store: landing, record and bulk files",
        ("minio", "server", "{data}", "--address", "{listen}:{object-store.port}"),
        Health("/minio/health/live"),
        9000,
        stand_in=StandIn(
            ("moto_server", "-H", "{listen}", "-p", "{object-store.port}"),
            Health("/moto-api/"),
            "everything, when it stops: it is for trying out",
        ),
        image=Image(
            "quay.io/minio/minio:RELEASE.2025-09-07T16-13-09Z",
            ("server", "{data}", "--address", ":9000"),
            ("mc", "ready", "local"),
            {
                "MINIO_ROOT_USER": "${AWS_ACCESS_KEY_ID:?}",
                "MINIO_ROOT_PASSWORD": "${AWS_SECRET_ACCESS_KEY:?}",
            },
        ),
    ),
    Process(
        "bucket",
        "makes the bucket, if it is missing",
        ("python", "-m", "deploy.bucket", BUCKET),
        requires=("object-store",),
        modules=("s3fs",),
        once=True,
        provides={
            "AWS_ENDPOINT_URL": "http://{object-store.host}:{object-store.port}",
            "AWS_REGION": "us-east-1",
            "SANKOFA_EXPORTS": f"s3://{BUCKET}/exports",
        },
    ),
    Process(
        "spark",
        "Spark master: gives the steps of a publication to its workers",
        (
            *["spark-class", "org.apache.spark.deploy.master.Master", "--host", "{spark.host}"],
            *["--port", "{spark.rpc_port}", "--webui-port", "{spark.port}"],
        ),
        Health("/json/"),
        8090,
        rpc_port=7077,
        programs=("java",),
        environment={"SPARK_DAEMON_MEMORY": "256m"},
    ),
    _spark_worker(1),
    _spark_worker(2),
    _rest(1),
    _rest(2),
    _mcp(1),
    _mcp(2),
    _dagster_worker(1),
    _dagster_worker(2),
    Process(
        "dagster-daemon",
        "Dagster's daemon: schedules, sensors, and the runs that they start",
        ("dagster-daemon", "run", "-m", "pipelines.definitions", "--log-level", "warning"),
        Health(command=("dagster-daemon", "liveness-check")),
        after=(*_STORES, "dagster-worker-1"),
        prepare=_DAGSTER_HOME,
    ),
    Process(
        "dagster-web",
        "Dagster's page: the graph, its runs and checks",
        (
            *["dagster-webserver", "-h", "{listen}", "-p", "{dagster-web.port}"],
            *["-m", "pipelines.definitions", "--log-level", "warning"],
        ),
        Health("/server_info"),
        8323,
        (*_STORES, "dagster-worker-1"),
        # It asks for no password: who reaches it could start runs.
        beyond_loopback=("--read-only",),
        prepare=_DAGSTER_HOME,
    ),
    Process(
        "metrics",
        "the metrics of this machine, for Prometheus",
        ("sankofa", "metrics", "--host", "{listen}", "--port", "{metrics.port}"),
        Health("/metrics"),
        8324,
        ("postgres",),
    ),
)
BY_NAME = {process.name: process for process in PROCESSES}
