"""Processes that read documents for the one that appends.

Jobs come in the order in which they are to be appended, and their outcomes leave in that order.
Only so many wait at a time: their rows lie in files, as Arrow tables that are mapped into memory
when it is their turn. A process that dies takes down no other: its document is recorded as
failed, and the rest of its job is given to another process.
"""

import pickle
import signal
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import connection, get_context
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from assets.ingest.failures import Raised
from assets.ingest.reading import Job, Outcome, Reader, ReadTable
from warehouse.errors import SankofaError
from warehouse.record.append import PreparedRows
from warehouse.record.landing import Document

# Bytes of documents from which on processes save more than they cost: each imports for a second.
WORTH_A_POOL = 32 << 20
# Jobs that a process has: one that it does, and one that it finds when that is done.
_AHEAD = 2
# Processes that end without having begun to read: somebody ended one, or none can start.
_MOST_DEAD_AT_ONCE = 3


class InThisProcess:
    """Reads each job when it is its turn."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        return

    def run(self, jobs: Iterator[Job]) -> Iterator[tuple[Job, Outcome | None]]:
        """Yield each job with its outcome, in order; None for a job that reads nothing itself."""
        for job in jobs:
            yield job, self._reader.run(job) if job.is_reading else None


def readers(
    reader: Reader, documents: Sequence[Document], processes: int, *, apart: bool = False
) -> "InThisProcess | WorkerPool":
    """Return what reads documents: processes if there is enough to read, else this one.

    ``apart``: in a process of its own, however short they are.
    """
    is_worth_it = processes > 1 and sum(document.size for document in documents) >= WORTH_A_POOL
    if (is_worth_it or apart) and (pickled := _pickled(reader)) is not None:
        return WorkerPool(pickled, processes)
    return InThisProcess(reader)


def _pickled(reader: Reader) -> bytes | None:
    """Return a reader as bytes; None if its parser is no function of a module."""
    try:
        return pickle.dumps(reader)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


@dataclass
class _Turn:
    """A job in its place in the order; ``outcome`` is the path of its file, or what it is."""

    job: Job
    needs_reading: bool
    outcome: Outcome | Path | None = None
    killed: list[tuple[str, Raised]] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return not self.needs_reading or self.outcome is not None


@dataclass
class _Worker:
    """A process; ``begun`` is the number of the document it reads, None if it reads none."""

    process: Any
    pipe: "connection.Connection[Any, Any]"
    turns: deque[_Turn] = field(default_factory=deque)
    begun: int | None = None
    is_reading: bool = False


class WorkerPool:
    """Reads jobs in ``processes`` processes; use it in a ``with``."""

    def __init__(self, pickled_reader: bytes, processes: int) -> None:
        self._reader, self._processes = pickled_reader, processes
        self._workers: list[_Worker] = []
        self._waiting: deque[_Turn] = deque()
        self._scratch = tempfile.TemporaryDirectory(prefix="sankofa-ingest-")
        self._files = self._dead_at_once = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for worker in self._workers:
            worker.pipe.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join()
        self._scratch.cleanup()

    def run(self, jobs: Iterator[Job]) -> Iterator[tuple[Job, Outcome | None]]:
        """Yield each job with its outcome, in order; None for a job that is not for a process."""
        turns: deque[_Turn] = deque()
        most, is_exhausted = (_AHEAD + 1) * self._processes, False
        while True:
            while not is_exhausted and len(turns) < most:
                job = next(jobs, None)
                if job is None:
                    is_exhausted = True
                else:
                    turns.append(self._queued(job))
            if not turns:
                return
            while not turns[0].is_done:
                self._wait()
            turn = turns.popleft()
            yield turn.job, _opened(turn)

    def _queued(self, job: Job) -> _Turn:
        turn = _Turn(job, job.is_reading)
        if turn.needs_reading:
            # A piece is megabytes: only its file is kept.
            turn.job = replace(job, piece=self._written(job))
            self._waiting.append(turn)
            self._hand_out()
        return turn

    def _written(self, job: Job) -> Path:
        self._files += 1
        path = Path(self._scratch.name, f"{self._files}.job")
        path.write_bytes(pickle.dumps(job, pickle.HIGHEST_PROTOCOL))
        return path

    def _hand_out(self) -> None:
        """Give waiting jobs to the processes that have the fewest."""
        while self._waiting:
            worker = min(self._workers, key=lambda worker: len(worker.turns), default=None)
            if (worker is None or worker.turns) and len(self._workers) < self._processes:
                worker = self._started()
            if worker is None or len(worker.turns) == _AHEAD:
                return
            turn = self._waiting.popleft()
            worker.turns.append(turn)
            try:
                # A path: what is sent must never fill the pipe, or both ends could wait.
                worker.pipe.send(turn.job.piece)
            except OSError:
                self._bury(worker)

    def _started(self) -> _Worker:
        # Spawned and not forked: Arrow and DuckDB have threads that a fork loses.
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._reader), daemon=True)
        process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _wait(self) -> None:
        """Take in what the processes report, and give them more to do."""
        by_pipe = {worker.pipe: worker for worker in self._workers}
        for pipe in connection.wait(list(by_pipe)):
            worker = by_pipe[pipe]  # type: ignore[index]
            try:
                message, value = worker.pipe.recv()
            except (EOFError, OSError):
                self._bury(worker)
                continue
            if message == "begun":
                worker.begun, worker.is_reading = value, True
            else:
                worker.turns.popleft().outcome = value
                worker.is_reading = False
        self._hand_out()

    def _bury(self, worker: _Worker) -> None:
        """Record whose reading ended with a process, and let others go on with the rest."""
        self._workers.remove(worker)
        worker.pipe.close()
        worker.process.join()
        exit_code = worker.process.exitcode
        self._dead_at_once += not worker.is_reading
        if self._dead_at_once > _MOST_DEAD_AT_ONCE:
            raise SankofaError(
                "processes that were started to read documents ended before they began (exit "
                f"code {exit_code}); set SANKOFA_PROCESSES=1 to read them in this one"
            )
        # Those that it had not begun yet are read as if nothing had happened.
        others = list(worker.turns)
        if worker.is_reading:
            turn = others.pop(0)
            lost = turn.job.documents
            if worker.begun is not None:
                lost = lost[worker.begun : worker.begun + 1]
            turn.killed += [(document.key, Raised.killed(exit_code)) for document in lost]
            left = tuple(document for document in turn.job.documents if document not in lost)
            if left:
                turn.job = replace(turn.job, documents=left, piece=None)
                turn.job = replace(turn.job, piece=self._written(turn.job))
                others.insert(0, turn)
            else:
                turn.outcome = Outcome()
        self._waiting.extendleft(reversed(others))


def _opened(turn: _Turn) -> Outcome | None:
    """Return the outcome of a turn, its rows mapped into memory and its files gone."""
    if not turn.needs_reading:
        return None
    turn.job.piece.unlink(missing_ok=True)
    outcome = turn.outcome
    if isinstance(outcome, Path):
        # Our own file, from this run.
        stored: Outcome = pickle.loads(outcome.read_bytes())  # noqa: S301
        outcome.unlink()
        outcome = replace(stored, tables=[_mapped(table) for table in stored.tables])
    assert outcome is not None
    return replace(outcome, failed=[*turn.killed, *outcome.failed])


def _mapped(table: ReadTable) -> ReadTable:
    path: Any = table.prepared.rows
    with pa.memory_map(path) as stored:
        rows = pa.ipc.open_file(stored).read_all()
    # It stays readable while it is mapped.
    Path(path).unlink()
    return replace(table, prepared=replace(table.prepared, rows=rows))


def _work(pipe: "connection.Connection[Any, Any]", pickled_reader: bytes) -> None:
    """Read jobs until there are no more: the other end of the pipe is closed."""
    # The first process decides what an interruption means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # There are as many processes as cores.
    pa.set_cpu_count(1)
    reader: Reader = pickle.loads(pickled_reader)  # noqa: S301
    while True:
        try:
            path = pipe.recv()
        except EOFError:
            return
        job: Job = pickle.loads(path.read_bytes())  # noqa: S301
        outcome = reader.run(job, lambda number: pipe.send(("begun", number)))
        stored = path.with_suffix(".outcome")
        stored.write_bytes(pickle.dumps(_stored(outcome, path), pickle.HIGHEST_PROTOCOL))
        pipe.send(("done", stored))


def _stored(outcome: Outcome, path: Path) -> Outcome:
    """Write the rows of an outcome to files; return it with their paths in place of the rows."""
    tables = []
    for number, table in enumerate(outcome.tables):
        file = str(path.with_suffix(f".{number}.arrow"))
        rows = table.prepared.rows
        with pa.OSFile(file, "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows)
        prepared = PreparedRows(file, table.prepared.shown, table.prepared.rejected)
        tables.append(ReadTable(prepared, table.rejected))
    error = outcome.error
    if error is not None:
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301
        except Exception:
            error = RuntimeError(Raised.of(error).trace)
    return replace(outcome, tables=tables, error=error)
