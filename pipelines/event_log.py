"""Dagster's event log in SQLite files, with connections that are kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Engine, create_engine

# The file of what concerns all runs; every run has one of its own.
_OF_ALL_RUNS = "index"
_WAIT_SECONDS = 30


def keep_connections(log: Any) -> None:
    """Let the event log of an instance keep two files open: that of all runs, and of the last run.

    By itself it makes an engine and a connection for every statement and compiles the statement
    anew, which is a sixth of the CPU time of publishing twenty rates. Other logs than those in
    SQLite files keep theirs open anyway.
    """
    if not log.is_run_sharded:
        return
    engines, turn = dict[str, Engine](), Lock()
    open_file, dispose = log.run_connection, log.dispose

    def close(*files: str) -> None:
        for file in files:
            engines.pop(file).dispose()

    @contextmanager
    def connected(file: str = _OF_ALL_RUNS) -> Iterator[Connection]:
        # One thread at a time, as in Dagster's own.
        with turn:
            if file not in engines:
                # This creates the tables of a new file.
                with open_file(file):
                    close(*engines.keys() - {_OF_ALL_RUNS, file})
                engines[file] = create_engine(
                    log.conn_string_for_shard(file), connect_args={"timeout": _WAIT_SECONDS}
                )
            with engines[file].begin() as connection:
                yield connection

    def dispose_of_all() -> None:
        close(*engines)
        dispose()

    log.run_connection = log.index_connection = connected
    log.dispose = dispose_of_all
