"""What a machine has of the programs of a deployment, and what is left out without them."""

import os
import pwd
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from deploy.processes import PROCESSES, Health, Process

# The same program under another name.
_ALSO = {"redis-server": "valkey-server", "redis-cli": "valkey-cli"}
# PostgreSQL refuses to run as root; in a container it is often the only user.
_NOT_AS_ROOT = "postgres"


@dataclass(frozen=True)
class Chosen:
    """A process as this machine runs it: the real program, or what stands in for it."""

    process: Process
    command: tuple[str, ...]
    health: Health
    loses: str = ""


def search_path() -> str:
    """Return where programs are looked for: our environment, PostgreSQL's folder, the system."""
    folders = [Path(sys.executable).parent, *sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1:]]
    return os.pathsep.join([*map(str, folders), os.environ.get("PATH", os.defpath), "/usr/sbin"])


def choose() -> tuple[dict[str, Chosen], dict[str, str]]:
    """Return the processes that this machine can run, and why it cannot run the others."""
    chosen: dict[str, Chosen] = {}
    left_out: dict[str, str] = {}
    for process in PROCESSES:
        missing = _missing(process, chosen)
        program = _program(process.command[0])
        if not missing and program is not None:
            chosen[process.name] = Chosen(process, named(process.command), process.health)
        elif not missing and process.stand_in and _program(process.stand_in.command[0]):
            stand_in = process.stand_in
            chosen[process.name] = Chosen(
                process, stand_in.command, stand_in.health, stand_in.loses
            )
        else:
            left_out[process.name] = missing or f"{process.command[0]} is not installed"
    return chosen, left_out


def named(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command with its program under the name that it has here."""
    return (_program(command[0]) or command[0], *command[1:])


def user_of(process: Process) -> str | None:
    """Return the user as whom a process runs; None for our own."""
    if os.geteuid() or process.command[0] != "postgres":
        return None
    known = {user.pw_name for user in pwd.getpwall()}
    return _NOT_AS_ROOT if _NOT_AS_ROOT in known else "nobody"


def _missing(process: Process, chosen: Mapping[str, Chosen]) -> str:
    for name in process.requires:
        if name not in chosen:
            return f"{name} is left out"
    for module in process.modules:
        if find_spec(module) is None:
            return f"the Python package {module} is not installed"
    for program in process.programs:
        if _program(program) is None:
            return f"{program} is not installed"
    return ""


def _program(name: str) -> str | None:
    if name == "python":
        return sys.executable
    path = search_path()
    other = _ALSO.get(name)
    return shutil.which(name, path=path) or (other and shutil.which(other, path=path)) or None
