"""No process of a deployment has a secret or a folder that its role does not need."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
import trustme
import yaml

from tests.helpers.paths import ROOT
from tests.helpers.postgres_server import postgres
from tests.helpers.redis_server import redis_program
from tests.helpers.waiting import wait_until
from warehouse.serve.counters import RedisCounters, month_at
from warehouse.shared.settings import SETTINGS
from warehouse.shared.tiers import TIERS

DEPLOY = ROOT / "deploy"
UNITS = DEPLOY / "systemd"


@dataclass(frozen=True)
class Role:
    """What a role may have: secrets by name, folders that it reads and those that it writes."""

    secrets: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)


SURFACE = Role({"SANKOFA_CONTROL", "SANKOFA_USAGE"}, {"published"}, {"metrics"})
PIPELINE = Role(
    {"SANKOFA_RUNS", "SANKOFA_WITHHELD_KEY", "SANKOFA_CONTACT"},
    writes={"pipeline", "published", "metrics"},
)
ROLES = {
    "rest": SURFACE,
    "mcp": SURFACE,
    "pipeline": PIPELINE,
    "page": Role({"SANKOFA_RUNS"}, writes={"page"}),
    "metrics": Role(reads={"published", "metrics"}),
    "usage": Role({"USAGE_PASSWORD"}),
}
# Only compose has these: a machine has a shell of the operator, and a service of the system.
CONTAINERS = {
    **ROLES,
    "operator": Role(PIPELINE.secrets | SURFACE.secrets, writes=PIPELINE.writes),
    "postgres": Role(
        {"POSTGRES_PASSWORD", "CONTROL_OWNER_PASSWORD", "CONTROL_READER_PASSWORD", "RUNS_PASSWORD"}
    ),
}


def assignments(file: Path) -> dict[str, str]:
    lines = (line.partition("=") for line in file.read_text().splitlines())
    return {name: value for name, _, value in lines}


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("secrets") / "env"
    command = ["sh", str(DEPLOY / "make-secrets.sh"), str(folder)]
    assert subprocess.run(command, check=False).returncode == 0
    made = {file: file.read_bytes() for file in folder.iterdir()}
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 1 and "has files already" in again.stderr
    assert {file: file.read_bytes() for file in folder.iterdir()} == made
    return folder


def services() -> dict[str, dict[str, Any]]:
    loaded: dict[str, dict[str, Any]] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return loaded["services"]


def settings_of_units() -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield each role with what its unit sets; a name may be set more than once."""
    for file in UNITS.glob("*.service"):
        values: dict[str, list[str]] = {}
        for line in file.read_text().splitlines():
            name, is_assigned, value = line.partition("=")
            if is_assigned and not line.startswith("#"):
                values.setdefault(name, []).append(value)
        yield file.stem.removeprefix("sankofa-").removesuffix("@"), values


def test_a_container_has_the_secrets_and_folders_of_its_role_and_no_others(secrets: Path) -> None:
    assert services().keys() == CONTAINERS.keys()
    for name, service in services().items():
        files = [secrets / Path(file).name for file in service.get("env_file", ())]
        given = {key for file in files for key in assignments(file)}
        # What is set in the compose file itself is no secret: places, not values of others.
        assert given == CONTAINERS[name].secrets, name
        volumes = [volume.split(":") for volume in service["volumes"]]
        own = [volume for volume in volumes if volume[1].startswith("/var/lib/sankofa/")]
        reads = {folder for folder, _, *mode in own if mode == ["ro"]}
        assert reads == CONTAINERS[name].reads, name
        assert {folder for folder, *_ in own} - reads == CONTAINERS[name].writes, name


def test_a_unit_has_the_secrets_and_folders_of_its_role_and_no_others(secrets: Path) -> None:
    units = dict(settings_of_units())
    assert units.keys() == ROLES.keys()
    for name, values in units.items():
        files = [secrets / Path(file).name for file in values.get("EnvironmentFile", ())]
        assert {key for file in files for key in assignments(file)} == ROLES[name].secrets, name
        for option, expected in {
            "BindReadOnlyPaths": ROLES[name].reads,
            "BindPaths": ROLES[name].writes,
        }.items():
            bound = {path for line in values.get(option, ()) for path in line.split()}
            assert bound == {f"/var/lib/sankofa/{folder}" for folder in expected}, (name, option)
    users = [user for values in units.values() for user in values["User"]]
    assert len({*users}) == len(users) == len(units)
    declared = (UNITS / "sysusers.conf").read_text()
    assert set(re.findall(r"^u (\S+)", declared, re.MULTILINE)) == {*users}


def test_secrets_are_readable_by_their_owner_alone_and_none_is_in_a_file_of_the_repository(
    secrets: Path,
) -> None:
    assert {file.stat().st_mode & 0o777 for file in secrets.iterdir()} == {0o600}
    assert secrets.stat().st_mode & 0o777 == 0o700
    assert len(assignments(secrets / "pipeline.env")["SANKOFA_WITHHELD_KEY"]) >= 32
    for file in (DEPLOY / "compose.yaml", *UNITS.rglob("*.*")):
        if file.is_file():
            assert not re.search(r"(PASSWORD|SECRET|WITHHELD_KEY)\w*[=:]\s*\S", file.read_text())


def test_a_container_is_read_only_without_capabilities_and_within_limits() -> None:
    for name, service in services().items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["mem_limit"] and service["pids_limit"] and service["tmpfs"], name
        assert service["user"].split(":")[0] != "0", name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
        # By digest: no file contains a name with a tag, so that none can be left there.
        image = service["image"]
        assert image == "sankofa" or re.fullmatch(r"\$\{\w+_IMAGE:\?.+\}", image), name
    assert re.findall(r"^FROM (\S+)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE) == [
        "${PYTHON_IMAGE}",
        "${PYTHON_IMAGE}",
    ]


def test_the_page_of_dagster_is_read_only_everywhere() -> None:
    assert "--read-only" in services()["page"]["command"][-1]
    assert "--read-only" in dict(settings_of_units())["page"]["ExecStart"][0]


def test_the_files_name_settings_that_exist(secrets: Path) -> None:
    files = [DEPLOY / "compose.yaml", *UNITS.glob("*.service"), *secrets.iterdir()]
    named = {name for file in files for name in re.findall(r"\bSANKOFA_[A-Z_]+", file.read_text())}
    assert named <= {setting.name for setting in SETTINGS.values()}


def test_systemd_accepts_the_units_and_finds_them_hardly_exposed(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("left out: systemd-analyze is not installed")
    folder = tmp_path / "system"
    shutil.copytree(UNITS, folder)
    # The programs are not installed here, and systemd looks for them.
    for unit in folder.glob("*.service"):
        programs = re.sub(r"^(Exec\w+=)/(opt|usr)/\S+", r"\1/bin/sh", unit.read_text(), flags=re.M)
        unit.write_text(programs)
    environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:"}

    def analyze(*words: str) -> "subprocess.CompletedProcess[str]":
        command = ["systemd-analyze", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    units = [
        f"sankofa-{name}{'@8321' if name in ('rest', 'mcp') else ''}.service" for name in ROLES
    ]
    verified = analyze("verify", "--man=no", *units, "sankofa.target")
    ours = [line for line in verified.stderr.splitlines() if "sankofa" in line]
    assert ours == []
    for name in units:
        found = analyze("security", "--offline=true", "--no-pager", name)
        exposure = re.search(r"exposure level for \S+: ([\d.]+)", found.stdout)
        assert exposure and float(exposure[1]) < 3, found.stdout + found.stderr


def test_the_counters_work_for_their_user_who_may_do_nothing_else(
    tmp_path: Path, secrets: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    password = assignments(secrets / "usage.env")["USAGE_PASSWORD"]
    script, program = str(DEPLOY / "usage-store.sh"), redis_program()
    process = subprocess.Popen(
        ["sh", script, program, str(tmp_path), "127.0.0.1", str(port)],
        env={**os.environ, "USAGE_PASSWORD": password},
        stdout=subprocess.DEVNULL,
    )
    try:
        address = f"127.0.0.1:{port}/0"
        wait_until(lambda: listens(port), 20, every=0.02)
        counters = RedisCounters(f"redis://surface:{password}@{address}")
        month = month_at(time.time())
        counters.check()
        assert counters.take("key", TIERS["starter"], month, True, time.time()).charged
        counters.give_back("key", month)
        assert counters.used("key", month.name) == 0
        surface = redis.Redis.from_url(f"redis://surface:{password}@{address}")
        for refused in (
            ["FLUSHALL"],
            ["CONFIG", "GET", "*"],
            ["ACL", "LIST"],
            ["DEL", "sankofa:usage:checked"],
            ["SET", "sankofa:keys:1", "professional"],
            ["EVAL", "return redis.call('GET', 'other')", "0"],
        ):
            with pytest.raises(redis.ResponseError, match=r"no permissions|can't access"):
                surface.execute_command(*refused)  # type: ignore[no-untyped-call]
        with pytest.raises(redis.AuthenticationError):
            redis.Redis.from_url(f"redis://{address}").ping()
    finally:
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def test_servers_read_the_control_database_and_change_nothing(secrets: Path) -> None:
    with postgres() as server:
        uri = server.get_uri()
        parts = psycopg.conninfo.conninfo_to_dict(uri)
        done = subprocess.run(
            ["sh", str(DEPLOY / "postgres-roles.sh")],
            env={
                **os.environ,
                **assignments(secrets / "postgres.env"),
                "PATH": f"{server.bin_path}:{os.environ['PATH']}",
                "PGHOST": str(parts["host"]),
                "PGUSER": str(parts["user"]),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

        def connected(user: str, database: str) -> "psycopg.Connection[Any]":
            conninfo = psycopg.conninfo.make_conninfo(uri, user=user, dbname=database)
            return psycopg.connect(conninfo, autocommit=True)

        with connected("control_owner", "control") as owner:
            owner.execute("CREATE TABLE keys (hash TEXT)")
            owner.execute("INSERT INTO keys VALUES ('a')")
        with connected("control_reader", "control") as reader:
            assert reader.execute("SELECT * FROM keys").fetchall() == [("a",)]
            for refused in (
                "DELETE FROM keys",
                "INSERT INTO keys VALUES ('b')",
                "CREATE TABLE t ()",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    reader.execute(refused)
        with connected("runs", "runs") as runs:
            runs.execute("CREATE TABLE runs (id TEXT)")
        for user, database in (("runs", "control"), ("control_reader", "runs")):
            with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
                connected(user, database)


def test_nginx_accepts_the_proxy_configuration(tmp_path: Path) -> None:
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("left out: nginx is not installed")
    certificate = trustme.CA().issue_cert("data.example.org", "mcp.example.org")
    certificate.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "both.pem"))
    text = (DEPLOY / "nginx.conf").read_text()
    text = re.sub(r"/etc/nginx/tls/sankofa\.(pem|key)", str(tmp_path / "both.pem"), text)
    (tmp_path / "sankofa.conf").write_text(text)
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid; events {{}} http {{ include {tmp_path}/sankofa.conf; }}"
    )
    checked = subprocess.run(
        [program, "-t", "-e", str(tmp_path / "log"), "-c", str(tmp_path / "nginx.conf")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
