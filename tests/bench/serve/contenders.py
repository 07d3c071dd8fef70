"""Who is measured, and how each is started; every server is kept to one core."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipelines.commands.serving import ALLOCATION
from tests.bench.serve.cases import DATASETTE
from tests.bench.serve.data import Data

ROOT = Path(__file__).parents[3]
PEERS = ("datasette", "fastapi", "uvicorn", "sqlalchemy")
PORT = 9_400
_GENEROUS = {"professional": {"per_minute": 10**9, "per_month": 10**12}}


@dataclass(frozen=True)
class Contender:
    """A server that runs: its port, its process, and which form of a question it takes."""

    name: str
    port: int
    pid: int
    words: str


def peers_at(data: Data) -> Path:
    """Return the peers' virtual environment, created on first use (``SANKOFA_BENCH_PEERS``)."""
    venv = Path(os.environ.get("SANKOFA_BENCH_PEERS") or data.folder.parent / "peers")
    if not (venv / "bin" / "datasette").exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run([str(venv / "bin/pip"), "install", "--quiet", *PEERS], check=True)
    return venv


@contextmanager
def started(data: Data, core: int, sizes: Mapping[str, int]) -> Iterator[list[Contender]]:
    """Start all of them until the end of the block; each is idle while others are measured."""
    commands = _commands(data, peers_at(data) / "bin", sizes)
    with ExitStack() as stack:
        yield [
            stack.enter_context(_running(name, PORT + number, command, environ, (core,), words))
            for number, (name, (command, environ, words)) in enumerate(commands.items())
        ]


@contextmanager
def ours(data: Data, *cores: int, port: int = 50, workers: int = 1) -> Iterator[Contender]:
    """Start only our own service; ``port`` is counted from the first one."""
    command, environ, words = _ours(data, workers)
    with _running("sankofa", PORT + port, command, environ, cores, words) as contender:
        yield contender


Command = tuple[list[str], dict[str, str], str]


def _commands(data: Data, peers: Path, sizes: Mapping[str, int]) -> dict[str, Command]:
    python = sys.executable
    body_sizes = [f"{name}={size}" for name, size in sizes.items()]
    config = data.folder / "datasette.json"
    queries = {name: {"sql": sql} for name, sql in DATASETTE.items()}
    config.write_text(json.dumps({"databases": {"plain": {"queries": queries}}}))
    here = str(Path(__file__).parent)
    return {
        "sankofa": _ours(data, workers=1),
        "waitress": (
            [python, "-m", "tests.bench.serve.constant", "{port}", *body_sizes],
            {},
            "constant",
        ),
        "datasette": (
            [
                *(str(peers / "datasette"), "serve", "-i", str(data.plain), "-p", "{port}"),
                # Its first answers are read from a cold disk.
                *("-m", str(config), "--setting", "sql_time_limit_ms", "60000"),
            ],
            {},
            "datasette",
        ),
        "fastapi": (
            [
                *(str(peers / "uvicorn"), "usual:app", "--app-dir", here, "--port", "{port}"),
                "--no-access-log",
            ],
            {"PLAIN": str(data.plain)},
            "usual",
        ),
    }


def _places(data: Data) -> dict[str, str]:
    tiers = data.folder / "tiers.json"
    tiers.write_text(json.dumps(_GENEROUS))
    return {
        "SANKOFA_TIERS": str(tiers),
        "SANKOFA_MARTS": str(data.marts),
        "SANKOFA_CONTROL": str(data.keys),
        "SANKOFA_USAGE": str(data.folder / "usage.lmdb"),
    }


def _ours(data: Data, workers: int) -> Command:
    return (
        [sys.executable, "-m", "api", f'{{{{"workers": {workers}, "port": {{port}}}}}}'],
        {**_places(data), **ALLOCATION},
        "ours",
    )


@contextmanager
def _running(
    name: str,
    port: int,
    command: list[str],
    environ: Mapping[str, str],
    cores: Sequence[int],
    words: str,
) -> Iterator[Contender]:
    process = subprocess.Popen(
        [item.format(port=port) if "{port}" in item else item for item in command],
        env={**os.environ, **environ},
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    try:
        _wait(name, port, process)
        yield Contender(name, port, process.pid, words)
    finally:
        process.terminate()
        process.wait(30)


def _wait(name: str, port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers anything at all."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"{name} ended at once: {process.args!r}")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{name} does not answer")
