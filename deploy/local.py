"""The processes of a deployment on one machine, without containers: start, stop, health.

Everything is in one folder: ``home`` (the home of Sankofa), ``data/<process>``,
``log/<process>.log``, ``run/<process>.json`` (the process id), ``ports.json``, ``secrets.env``.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from deploy.machine import Chosen, choose, named, search_path, user_of
from deploy.probe import answers
from deploy.processes import PROCESSES, Process
from pipelines.ports import is_free
from warehouse.errors import SankofaError

HOST = "127.0.0.1"
_ROOT = Path(__file__).resolve().parent.parent
_SECRETS = ("PGPASSWORD", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "SANKOFA_WITHHELD_KEY")
_STOP_SECONDS = 15.0
_START_SECONDS = 300.0
_PORT_SECONDS = 5.0
# A PostgreSQL that was killed starts once its last process has noticed.
_STARTS = 4
Say = Callable[[str], object]


@dataclass(frozen=True)
class Address:
    """Where a process listens."""

    host: str
    port: int
    rpc_port: int


class Deployment:
    """The deployment in a folder; ``any_ports`` takes free ports instead of the usual ones."""

    def __init__(self, folder: Path, any_ports: bool = False) -> None:
        self.folder = folder.resolve()
        self.chosen, self.left_out = choose()
        self._any_ports = any_ports
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, names: Collection[str] = (), say: Say = print) -> None:
        """Start what does not run, and wait until it is healthy."""
        for name, why in self.left_out.items():
            if not names or name in names:
                say(f"{name:18} left out: {why}")
        wanted = [each for each in self.chosen.values() if not names or each.process.name in names]
        for name in set(names) - self.chosen.keys() - self.left_out.keys():
            raise SankofaError(f"there is no process {name}: one of {', '.join(self.chosen)}")
        starting = [each for each in wanted if self.process_id(each.process.name) is None]
        self._refuse_taken_ports(starting)
        waiting: dict[str, Chosen] = {}
        for each in starting:
            process = each.process
            self._await([waiting.pop(name) for name in _before(process) if name in waiting], say)
            if process.once:
                self._run(process, each.command)
            else:
                self._start(each)
                waiting[process.name] = each
        self._await(waiting.values(), say)

    def stop(self, names: Collection[str] = ()) -> None:
        """Stop processes, those first that depend on others."""
        for process in reversed(PROCESSES):
            if not names or process.name in names:
                self._stop(process.name)

    def health(self, name: str) -> str:
        """Return the state of a process: healthy, unhealthy, stopped, or why it is left out."""
        if name in self.left_out:
            return f"left out: {self.left_out[name]}"
        each = self.chosen[name]
        if each.process.once:
            return "done"
        if self.process_id(name) is None:
            return "stopped"
        return "healthy" if self._is_healthy(each) else "unhealthy"

    def process_id(self, name: str) -> int | None:
        """Return the id of a running process."""
        if name in self._children:
            # A child that has ended keeps its id until its parent takes note.
            self._children[name].poll()
        file = self.folder / "run" / f"{name}.json"
        if not file.exists():
            return None
        entry = json.loads(file.read_text())
        # Ids are used again: the same process has the same beginning.
        return int(entry["id"]) if _began(entry["id"]) == entry["began"] else None

    def address(self, name: str) -> str:
        """Return host and port of a process."""
        address = self._addresses()[name]
        return f"{address.host}:{address.port}"

    def environment(self) -> dict[str, str]:
        """Return the environment in which every command works on this deployment."""
        provided: dict[str, str] = {}
        for each in self.chosen.values():
            provided |= each.process.provides
        addresses = self._addresses()
        return {
            **self._secrets(),
            **{name: value.format_map(addresses) for name, value in provided.items()},
            "SANKOFA_HOME": str(self.folder / "home"),
            "DAGSTER_HOME": str(self.folder / "home" / "dagster"),
            "SANKOFA_BASE_URL": f"http://{self.address('rest-1')}",
            "PATH": search_path(),
        }

    def _start(self, each: Chosen) -> None:
        process, user = each.process, user_of(each.process)
        data = self._data(process)
        data.mkdir(parents=True, exist_ok=True)
        if user is not None:
            shutil.chown(data, user)
            data.chmod(0o700)
        if process.prepare:
            self._run(process, named(process.prepare))
        log = self.folder / "log" / f"{process.name}.log"
        log.parent.mkdir(exist_ok=True)
        with log.open("ab") as output:
            self._children[process.name] = started = subprocess.Popen(  # noqa: S603
                self._filled(process, each.command),
                env=self._environment_of(process),
                cwd=_ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=user,
            )
        file = self.folder / "run" / f"{process.name}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"id": started.pid, "began": _began(started.pid)}))

    def _run(self, process: Process, command: tuple[str, ...]) -> None:
        done = subprocess.run(  # noqa: S603
            self._filled(process, command),
            env=self._environment_of(process),
            cwd=_ROOT,
            capture_output=True,
            text=True,
            check=False,
            user=user_of(process),
        )
        if done.returncode:
            raise SankofaError(f"{process.name} could not be prepared: {done.stderr.strip()}")

    def _stop(self, name: str) -> None:
        process_id = self.process_id(name)
        if process_id is None:
            return
        os.kill(process_id, signal.SIGTERM)
        until = time.monotonic() + _STOP_SECONDS
        while _began(process_id) and time.monotonic() < until:
            time.sleep(0.05)
        with suppress(ProcessLookupError):
            # Its own children, also after a clean exit.
            os.killpg(process_id, signal.SIGKILL)
        if name in self._children:
            self._children.pop(name).wait()
        (self.folder / "run" / f"{name}.json").unlink()

    def _await(self, started: Iterable[Chosen], say: Say) -> None:
        until = time.monotonic() + _START_SECONDS
        for each in started:
            name, starts = each.process.name, 1
            while not self._is_healthy(each):
                ended = self.process_id(name) is None
                if (ended and starts == _STARTS) or time.monotonic() > until:
                    log = self.folder / "log" / f"{name}.log"
                    last = "\n".join(log.read_text(errors="replace").splitlines()[-5:])
                    raise SankofaError(f"{name} does not get healthy; the end of {log}:\n{last}")
                # A command takes processor time from what it waits for.
                time.sleep(0.1 if each.health.path else 1)
                if ended:
                    starts += 1
                    self._start(each)
            where = self.address(name) if each.process.port else ""
            instead = f"{each.command[0]}, which loses {each.loses}" if each.loses else ""
            say(f"{name:18} healthy  {where:22}{instead}".rstrip())

    def _is_healthy(self, each: Chosen) -> bool:
        if each.health.path:
            return answers(f"http://{self.address(each.process.name)}{each.health.path}")
        command = self._filled(each.process, named(each.health.command))
        checked = subprocess.run(  # noqa: S603
            command,
            env=self._environment_of(each.process),
            cwd=_ROOT,
            capture_output=True,
            check=False,
        )
        return checked.returncode == 0

    def _filled(self, process: Process, words: tuple[str, ...]) -> list[str]:
        own = {"data": str(self._data(process)), "listen": HOST, "deploy": str(_ROOT / "deploy")}
        values = {**self._addresses(), **own}
        return [word.format_map(values) for word in words]

    def _environment_of(self, process: Process) -> dict[str, str]:
        return {**os.environ, **self.environment(), **process.environment}

    def _data(self, process: Process) -> Path:
        return self.folder / "data" / process.name

    def _addresses(self) -> dict[str, Address]:
        """Return where each process listens; the ports are chosen once for a folder."""
        file = self.folder / "ports.json"
        if not file.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(_free_ports() if self._any_ports else _usual_ports()))
        ports = json.loads(file.read_text())
        return {name: Address(HOST, *pair) for name, pair in ports.items()}

    def _secrets(self) -> dict[str, str]:
        """Return the secrets of this deployment, made once."""
        file = self.folder / "secrets.env"
        if not file.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            file.touch(0o600)
            file.write_text("".join(f"{name}={secrets.token_hex(16)}\n" for name in _SECRETS))
        lines = file.read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))

    def _refuse_taken_ports(self, starting: Iterable[Chosen]) -> None:
        addresses, until = self._addresses(), time.monotonic() + _PORT_SECONDS
        for each in starting:
            address = addresses[each.process.name]
            for port in (address.port, address.rpc_port):
                # The workers of a process that was just killed may still have it.
                while port and not is_free(HOST, port) and time.monotonic() < until:
                    time.sleep(0.1)
                if port and not is_free(HOST, port):
                    raise SankofaError(
                        f"port {port}, for {each.process.name}, is in use; stop what listens "
                        "there, or start with --any-ports in a new folder"
                    )


def _before(process: Process) -> tuple[str, ...]:
    return (*process.after, *process.requires)


def _usual_ports() -> Mapping[str, tuple[int, int]]:
    return {process.name: (process.port, process.rpc_port) for process in PROCESSES}


def _free_ports() -> Mapping[str, tuple[int, int]]:
    sockets = [socket.create_server((HOST, 0)) for _ in range(2 * len(PROCESSES))]
    numbers = iter([each.getsockname()[1] for each in sockets])
    for each in sockets:
        each.close()
    return {process.name: (next(numbers), next(numbers)) for process in PROCESSES}


def _began(process_id: int) -> str:
    """Return when a process began; empty if it does not run."""
    asked = ["ps", "-o", "stat=,lstart=", "-p", str(process_id)]
    state, _, began = (
        subprocess.run(  # noqa: S603
            asked, capture_output=True, text=True, check=False
        )
        .stdout.strip()
        .partition(" ")
    )
    return "" if state.startswith("Z") else began.strip()
