"""The table of processes as a compose file and as systemd units: ``python -m deploy write``."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from deploy.processes import OURS, PROCESSES, Process

_HERE = Path(__file__).resolve().parent
COMPOSE, UNITS = _HERE / "compose.yaml", _HERE / "systemd"
_WRITTEN = "Written by `python -m deploy write` from deploy/processes.py."
_TARGET = "sankofa.target"
# Where the units expect our checkout, the state and the secrets.
_CODE, _STATE, _SECRETS = "/opt/sankofa", "/var/lib/sankofa", "/etc/sankofa/secrets.env"
_PATH = f"{_CODE}/.venv/bin:/usr/local/bin:/usr/bin:/bin"
_ANY_ADDRESS = "0.0.0.0"  # noqa: S104


@dataclass(frozen=True)
class _Address:
    host: str
    port: int
    rpc_port: int


def write_forms() -> list[Path]:
    """Write the compose file and the units; return the files."""
    texts = forms()
    for file, text in texts.items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    for file in set(UNITS.iterdir()) - texts.keys():
        file.unlink()
    return list(texts)


def forms() -> dict[Path, str]:
    """Return the text of each file that is written from the table."""
    return {COMPOSE: _compose(), **{UNITS / name: text for name, text in _units()}}


def _compose() -> str:
    services = {process.name: _service(process) for process in PROCESSES}
    volumes = {"home": None, **{name: None for name, each in services.items() if _data(each)}}
    whole = {"name": "sankofa", "services": services, "volumes": volumes}
    head = (
        f"# {_WRITTEN}\n# Secrets: `docker compose --env-file secrets.env`, as in secrets.example."
    )
    return f"{head}\n{yaml.safe_dump(whole, sort_keys=False, width=100)}"


def _service(process: Process) -> dict[str, Any]:
    image = process.image
    where = {each.name: _Address(each.name, each.port, each.rpc_port) for each in PROCESSES}
    data = image.data if image else "/home/sankofa/data"
    values: dict[str, Any] = {**where, "listen": _ANY_ADDRESS, "data": data, "deploy": "deploy"}

    def filled(words: tuple[str, ...]) -> list[str]:
        return [word.format_map(values) for word in words]

    service: dict[str, Any] = {"restart": "on-failure" if process.once else "always"}
    if image is None:
        service |= {"image": OURS, "build": {"context": "..", "dockerfile": "deploy/Dockerfile"}}
        command = (*process.command, *process.beyond_loopback)
        service["command"] = _with_preparation(filled(process.prepare), filled(command))
        service["environment"] = {
            **_provided(values),
            **process.environment,
            "SANKOFA_HOME": "/home/sankofa/home",
            "DAGSTER_HOME": "/home/sankofa/home/dagster",
            **{name: f"${{{name}:?}}" for name in _secret_names()},
        }
        service["volumes"] = ["home:/home/sankofa/home"]
        check = _check(process, filled(process.health.command))
    else:
        service["image"] = image.name
        if image.command:
            service["command"] = filled(image.command)
        if image.environment:
            service["environment"] = dict(image.environment)
        service["volumes"] = [f"{process.name}:{image.data}"]
        if process.name == "postgres":
            service["volumes"] += ["./dagster-database.sql:/docker-entrypoint-initdb.d/dagster.sql"]
        check = filled(image.health)
    if check:
        service["healthcheck"] = {
            "test": ["CMD", *check],
            # A check that starts Python with Dagster costs seconds of processor time.
            "interval": "15s" if process.image or process.health.path else "60s",
            "timeout": "30s",
            "retries": 4,
            "start_period": "60s",
        }
    if process.port:
        service["ports"] = [f"127.0.0.1:{process.port}:{process.port}"]
    before = (*process.after, *process.requires)
    if before:
        service["depends_on"] = {name: {"condition": _condition(name)} for name in before}
    return service


def _with_preparation(prepare: list[str], command: list[str]) -> list[str]:
    if not prepare:
        return command
    return ["sh", "-c", f"{shlex.join(prepare)} && exec {shlex.join(command)}"]


def _condition(name: str) -> str:
    once = next(process.once for process in PROCESSES if process.name == name)
    return "service_completed_successfully" if once else "service_healthy"


def _check(process: Process, command: list[str]) -> list[str]:
    if process.health.path:
        url = f"http://127.0.0.1:{process.port}{process.health.path}"
        return ["python", "-m", "deploy.probe", url]
    return command


def _provided(values: dict[str, Any]) -> dict[str, str]:
    provided = {name: text for each in PROCESSES for name, text in each.provides.items()}
    return {name: text.format_map(values) for name, text in provided.items()}


def _data(service: dict[str, Any]) -> bool:
    return bool(service["image"] != OURS)


def _secret_names() -> list[str]:
    lines = (_HERE / "secrets.example").read_text().splitlines()
    return [line.partition("=")[0] for line in lines if line and not line.startswith("#")]


def _units() -> Iterator[tuple[str, str]]:
    names = [_unit_name(process) for process in PROCESSES]
    yield (
        _TARGET,
        f"# {_WRITTEN}\n[Unit]\nDescription=Sankofa, all processes\nWants={' '.join(names)}\n\n"
        "[Install]\nWantedBy=multi-user.target\n",
    )
    values: dict[str, Any] = {
        each.name: _Address("127.0.0.1", each.port, each.rpc_port) for each in PROCESSES
    }
    values |= {"listen": "127.0.0.1", "deploy": f"{_CODE}/deploy"}
    yield "sankofa.env", _environment_file(values)
    for process in PROCESSES:
        own = {**values, "data": f"{_STATE}/data/{process.name}"}
        yield _unit_name(process), _unit(process, own)


def _environment_file(values: dict[str, Any]) -> str:
    lines = {
        **_provided(values),
        "SANKOFA_HOME": f"{_STATE}/home",
        "DAGSTER_HOME": f"{_STATE}/home/dagster",
    }
    return f"# {_WRITTEN}\n" + "".join(f"{name}={value}\n" for name, value in lines.items())


def _unit(process: Process, values: dict[str, Any]) -> str:
    def run(words: tuple[str, ...]) -> str:
        # `env` finds the program in PATH; systemd itself wants an absolute path.
        filled = [word.format_map(values).replace("%", "%%") for word in words]
        return shlex.join(["/usr/bin/env", *filled])

    before = [_unit_name(each) for each in PROCESSES if each.name in _needed(process)]
    ordering = [f"After=network-online.target {' '.join(before)}".rstrip()]
    ordering += [f"Wants={' '.join(before)}"] if before else []
    started = ["Type=oneshot", "RemainAfterExit=yes"] if process.once else ["Restart=always"]
    started += [] if process.once else ["RestartSec=2"]
    data = f"{_STATE}/data/{process.name}"
    lines = [
        f"# {_WRITTEN}",
        "[Unit]",
        f"Description=Sankofa {process.what}",
        *ordering,
        f"PartOf={_TARGET}",
        "",
        "[Service]",
        *started,
        "User=sankofa",
        f"WorkingDirectory={_CODE}",
        f"Environment=PATH={_PATH}",
        *(f"Environment={name}={value}" for name, value in process.environment.items()),
        f"EnvironmentFile={_CODE}/deploy/systemd/sankofa.env",
        f"EnvironmentFile={_SECRETS}",
        f"ExecStartPre=/usr/bin/mkdir -p -m 700 {data} {_STATE}/home",
        *([f"ExecStartPre={run(process.prepare)}"] if process.prepare else []),
        f"ExecStart={run(process.command)}",
        *_awaited(process, run),
        "TimeoutStartSec=180",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "PrivateTmp=yes",
        f"ReadWritePaths={_STATE}",
        "",
        "[Install]",
        f"WantedBy={_TARGET}",
    ]
    return "\n".join(lines) + "\n"


def _awaited(process: Process, run: Any) -> list[str]:
    """Return the line that waits for health: only then a unit counts as started."""
    if process.once:
        return []
    check = run(tuple(_check(process, list(process.health.command))))
    return [f"ExecStartPost=/bin/sh -c {shlex.quote(f'until {check}; do sleep 1; done')}"]


def _needed(process: Process) -> tuple[str, ...]:
    return (*process.after, *process.requires)


def _unit_name(process: Process) -> str:
    return f"sankofa-{process.name}.service"
