"""Processes that read documents for the one that appends.

Jobs come in the order in which they are to be appended, and their outcomes leave in that order.
Only so many wait at a time: their rows lie in files, as Arrow tables that are mapped into memory
when it is their turn.

A process reads under limits (``confine``). One that dies takes down no other: the rest of
its job is given to another process, and a document at which two died is at fault itself. What is
left of a source's processes reads the next source: each takes a second or two to start.
"""

import atexit
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing import Pipe, connection
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from assets.ingest.failures import Raised
from assets.ingest.reading import Job, Outcome, Reader, ReadTable
from assets.parsing.limits import DocumentLimits
from warehouse.record.append import PreparedRows
from warehouse.record.landing import Document
from warehouse.shared.errors import SankofaError

# Limits that the kernel enforces on a process that reads documents: memory and CPU time.
#
# Beyond the first an allocation fails, which Python and Arrow report as a MemoryError. Beyond the
# second the process ends with the signal ``OUT_OF_TIME``, whatever it is doing.

OUT_OF_TIME = signal.SIGPROF

_STATM = Path("/proc/self/statm")
_PAGE = resource.getpagesize()


def confine(memory: int, seconds: float) -> None:
    """Let this process take so many bytes more than now, and so many CPU seconds from now on.

    Memory is limited where the kernel tells how much a process has, which is on Linux.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    if (used := private_memory()) is not None:
        # Data and not address space: allocators reserve more than they use.
        _limit_data(used + memory)


def release() -> None:
    """Lift the limits of ``confine``."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    _limit_data(resource.RLIM_INFINITY)


def private_memory() -> int | None:
    """Return the bytes of memory that this process has to itself; None if that is not known."""
    try:
        return int(_STATM.read_text().split()[5]) * _PAGE
    except OSError:
        return None


def _limit_data(size: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(
        resource.RLIMIT_DATA, (hard if size == resource.RLIM_INFINITY else most, hard)
    )


# Bytes of documents from which on several processes save more than they cost.
WORTH_A_POOL = 32 << 20
# Jobs that a process has: one that it does, and one that it finds when that is done.
_AHEAD = 2
# Processes that end without having begun to read: somebody ended one, or none can start.
_MOST_DEAD_AT_ONCE = 3
# Processes that may end at one document: the first may have been ended by somebody.
_MOST_DEATHS = 2
# Nobody else ends a process like this: out of time, or by what a library does when it has no memory
# or goes astray.
_BY_ITSELF = {-OUT_OF_TIME, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGILL}
# A part of a stream may cost as much as a document of this size.
_PART_SIZE = 8 << 20
# None of multiprocessing: that would import the main module of this process once more.
_PROGRAM = """
import sys
sys.path[:] = sys.argv[2:]
from assets.ingest.workers import work_at
work_at(int(sys.argv[1]))
"""
# The parts of a job: its own bytes, not those of its document.
_PARTS = ("stream", "cut")


class InThisProcess:
    """Reads each job when it is its turn, for parsers that cannot be sent to another process."""

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

    def parts(self, document: Document) -> Iterator[Outcome]:
        """Yield a large document part by part; the last outcome says how it ended."""
        return self._reader.parts(document)


def readers(
    reader: Reader, documents: Sequence[Document], processes: int
) -> "InThisProcess | WorkerPool":
    """Return what reads documents: one process, or several if there is enough to read."""
    pickled = _pickled(reader)
    if pickled is None:
        return InThisProcess(reader)
    is_worth_it = sum(document.size for document in documents) >= WORTH_A_POOL
    return WorkerPool(pickled, processes if is_worth_it else 1, reader.limits)


def _pickled(reader: Reader) -> bytes | None:
    """Return a reader as bytes; None if its parser is no function of a module."""
    try:
        return pickle.dumps(reader)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


@dataclass
class _Turn:
    """A job in its place in the order, and its file; ``outcome`` is the path of one, or what it is.

    ``deaths`` counts, by document, the processes that ended at it.
    """

    job: Job
    needs_reading: bool
    file: Path | None = None
    outcome: Outcome | Path | None = None
    deaths: Counter[str] = field(default_factory=Counter)
    exceeded: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return not self.needs_reading or self.outcome is not None


@dataclass
class _Worker:
    """A process; ``begun`` is the number of the document it reads, None if it reads none."""

    process: "subprocess.Popen[bytes]"
    pipe: "connection.Connection[Any, Any]"
    started_with: "_Surroundings"
    turns: deque[_Turn] = field(default_factory=deque)
    begun: int | None = None
    is_reading: bool = False

    @classmethod
    def start(cls) -> "_Worker":
        """Start a process, which waits for jobs."""
        # Not forked: Arrow and DuckDB have threads that a fork loses.
        ours, theirs = Pipe()
        command = [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), *sys.path]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()])  # noqa: S603
        theirs.close()
        return cls(process, ours, _surroundings())

    def end(self) -> None:
        """End the process."""
        self.pipe.close()
        self.process.kill()
        self.process.wait()


# How the names of variables with credentials of object stores begin.
_CREDENTIALS = ("AWS_", "AZURE_", "GOOGLE_")
# What a process keeps from when it was started, and that decides what it reads.
_Surroundings = tuple[list[str], dict[str, str]]


def _surroundings() -> _Surroundings:
    """Return where modules are found, and the credentials of object stores."""
    credentials = {name: os.environ[name] for name in os.environ if name.startswith(_CREDENTIALS)}
    return list(sys.path), credentials


# Processes that wait for the next source.
_spare: list[_Worker] = []


def start_ahead() -> None:
    """Start a process that reads the first documents, while other things are prepared."""
    if not _spare:
        _spare.append(_Worker.start())


@atexit.register
def end_spare() -> None:
    """End the processes that wait for the next source."""
    while _spare:
        _spare.pop().end()


def _started() -> _Worker:
    """Return a process that waits, or else a new one."""
    while _spare:
        worker = _spare.pop()
        if worker.process.poll() is None and worker.started_with == _surroundings():
            return worker
        worker.end()
    return _Worker.start()


class WorkerPool:
    """Reads jobs in ``processes`` processes; use it in a ``with``."""

    def __init__(self, pickled_reader: bytes, processes: int, limits: DocumentLimits) -> None:
        self._processes, self._limits = processes, limits
        self._workers: list[_Worker] = []
        self._waiting: deque[_Turn] = deque()
        self._scratch = tempfile.TemporaryDirectory(prefix="sankofa-ingest-")
        self._files = self._dead_at_once = 0
        self._reader = Path(self._scratch.name, "reader")
        self._reader.write_bytes(pickled_reader)

    @property
    def is_parallel(self) -> bool:
        """Whether there are processes to read pieces that another one cuts."""
        return self._processes > 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for worker in self._workers:
            if kind is None and not worker.turns and not _spare:
                _spare.append(worker)
            else:
                worker.end()
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

    def parts(self, document: Document) -> Iterator[Outcome]:
        """Yield a large document part by part; the last outcome says how it ended."""
        for outcome in self._several(Job("stream", (document,))):
            yield _mapped_outcome(outcome) if isinstance(outcome, Path) else outcome

    def pieces(self, document: Document) -> Iterator[Any]:
        """Yield the files of the pieces of a large document; the last is the outcome."""
        for piece in self._several(Job("cut", (document,))):
            if isinstance(piece, Path) and piece.suffix == ".outcome":
                yield _mapped_outcome(piece)
            else:
                yield piece

    def _several(self, job: Job) -> Iterator[Path | Outcome]:
        """Yield what a process of its own makes of a job, one after the other."""
        (document,) = job.documents
        for death in range(1, _MOST_DEATHS + 1):
            worker, is_done, parts = self._free() or _started(), False, 0
            try:
                worker.pipe.send((self._reader, self._written(job)))
                while not is_done:
                    message, value = worker.pipe.recv()
                    is_done = message == "done"
                    if message != "begun":
                        # Before it is used: the next one is read meanwhile.
                        if not is_done:
                            worker.pipe.send("more")
                        parts += 1
                        yield value
                self._workers.append(worker)
                return
            except (EOFError, OSError):
                worker.process.wait()
            finally:
                if not is_done:
                    worker.end()
            exit_code = worker.process.returncode
            # What was read would be read again, and be appended after what came later.
            if death == _MOST_DEATHS or exit_code in _BY_ITSELF or parts:
                reason = self._why_dead(exit_code, _PART_SIZE)
                yield Outcome(exceeded=[(document.key, reason)])
                return

    def _free(self) -> _Worker | None:
        """Take a process out of the pool that has nothing to do; None if there is none."""
        for worker in self._workers:
            if not worker.turns:
                self._workers.remove(worker)
                return worker
        return None

    def _queued(self, job: Job) -> _Turn:
        turn = _Turn(job, job.is_reading)
        if turn.needs_reading:
            turn.file = self._written(job)
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
                worker = _started()
                self._workers.append(worker)
            if worker is None or len(worker.turns) == _AHEAD:
                return
            turn = self._waiting.popleft()
            worker.turns.append(turn)
            try:
                # Paths: what is sent must never fill the pipe, or both ends could wait.
                worker.pipe.send((self._reader, turn.file))
            except OSError:
                self._bury(worker)

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
        """Decide what becomes of a document at which a process ended; others read the rest."""
        self._workers.remove(worker)
        worker.pipe.close()
        worker.process.wait()
        exit_code = worker.process.returncode
        # It ends by itself when it has taken too much memory, and after what it reported.
        self._dead_at_once += not worker.is_reading and exit_code != 0
        if self._dead_at_once > _MOST_DEAD_AT_ONCE:
            raise SankofaError(
                "processes that were started to read documents ended before they began (exit "
                f"code {exit_code}); see the log for the reason"
            )
        # Those that it had not begun yet are read as if nothing had happened.
        others = list(worker.turns)
        if worker.is_reading:
            turn = others.pop(0)
            self._blame(turn, worker.begun, exit_code)
            if turn.outcome is None:
                turn.file = self._written(turn.job)
                others.insert(0, turn)
        self._waiting.extendleft(reversed(others))

    def _blame(self, turn: _Turn, begun: int | None, exit_code: int | None) -> None:
        """Take the document out of a turn at which a second process, or a limit, ended."""
        documents = turn.job.documents
        if begun is None and len(documents) > 1:
            turn.outcome = Outcome(is_too_much=True)
            return
        document = documents[begun or 0]
        turn.deaths[document.key] += 1
        if turn.deaths[document.key] < _MOST_DEATHS and exit_code not in _BY_ITSELF:
            return
        reason = self._why_dead(exit_code, turn.job.size or document.size)
        turn.exceeded.append((document.key, reason))
        left = tuple(other for other in documents if other is not document)
        turn.job = replace(turn.job, documents=left)
        if not left:
            turn.job, turn.outcome = replace(turn.job, documents=documents), Outcome()

    def _why_dead(self, exit_code: int | None, size: int) -> str:
        """Return the reason against a document at which a process ended."""
        if exit_code == -OUT_OF_TIME:
            return self._limits.out_of_time(size)
        how = f"signal {-exit_code}" if exit_code and exit_code < 0 else f"exit code {exit_code}"
        return self._limits.killed(how, size)


def _opened(turn: _Turn) -> Outcome | None:
    """Return the outcome of a turn, its rows mapped into memory and its files gone."""
    if not turn.needs_reading:
        return None
    for file in (turn.file, turn.job.piece):
        if isinstance(file, Path):
            file.unlink(missing_ok=True)
    outcome = turn.outcome
    if isinstance(outcome, Path):
        outcome = _mapped_outcome(outcome)
    assert outcome is not None
    return replace(outcome, exceeded=[*turn.exceeded, *outcome.exceeded])


def _mapped_outcome(file: Path) -> Outcome:
    # Our own file, from this run.
    stored: Outcome = pickle.loads(file.read_bytes())  # noqa: S301
    file.unlink()
    return replace(stored, tables=[_mapped(table) for table in stored.tables])


def _mapped(table: ReadTable) -> ReadTable:
    path: Any = table.prepared.rows
    with pa.memory_map(path) as stored:
        rows = pa.ipc.open_file(stored).read_all()
    # It stays readable while it is mapped.
    Path(path).unlink()
    return replace(table, prepared=replace(table.prepared, rows=rows))


def work_at(file: int) -> None:
    """Do jobs until there are no more, which is when the other end of the pipe is closed."""
    # The first process decides what an interruption means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # There are as many processes as cores.
    pa.set_cpu_count(1)
    # Arrow's own allocator keeps what it has once had.
    pa.set_memory_pool(pa.system_memory_pool())
    with suppress(EOFError, ConnectionError), connection.Connection(file) as pipe:
        _Serving(pipe).serve()


class _Serving:
    """Does jobs in a process of a pool."""

    def __init__(self, pipe: "connection.Connection[Any, Any]") -> None:
        self._pipe = pipe
        self._reader_file: Path | None = None
        self._reader: Reader
        self._least_memory: int | None = None

    def serve(self) -> None:
        """Do jobs; return when this process has taken more memory than a new one would."""
        while not self._is_worn():
            reader_file, job_file = self._pipe.recv()
            if reader_file != self._reader_file:
                self._reader = pickle.loads(reader_file.read_bytes())  # noqa: S301
                self._reader_file = reader_file
                # What every reader needs is not counted against the first document.
                self._reader.nothing()
            if self._least_memory is None:
                self._least_memory = private_memory()
            self._do(pickle.loads(job_file.read_bytes()), job_file)  # noqa: S301

    def _do(self, job: Job, file: Path) -> None:
        if job.kind in _PARTS:
            self._send_parts(job, file)
            return
        if job.kind == "piece":
            job = replace(job, piece=pickle.loads(job.piece.read_bytes()))  # noqa: S301

        def begin(number: int | None) -> None:
            self._pipe.send(("begun", number))
            chosen = job.documents if number is None else job.documents[number : number + 1]
            size = job.size or sum(document.size for document in chosen)
            self._confine(size, size)

        outcome = self._reader.run(job, begin)
        release()
        self._pipe.send(("done", _stored(outcome, file)))

    def _send_parts(self, job: Job, file: Path) -> None:
        """Send a large document part by part, each when the one before it is taken."""
        (document,) = job.documents
        made = self._reader.parts if job.kind == "stream" else self._reader.pieces
        size = min(document.size, _PART_SIZE)
        self._confine(size, _PART_SIZE)
        for number, part in enumerate(made(document)):
            release()
            path = file.with_name(f"{file.stem}-{number}.job")
            is_last = isinstance(part, Outcome) and not part.tables
            if isinstance(part, Outcome):
                path = _stored(part, path)
            else:
                path.write_bytes(pickle.dumps(part, pickle.HIGHEST_PROTOCOL))
            self._pipe.send(("done" if is_last else "part", path))
            if is_last:
                return
            self._pipe.recv()
            self._confine(size, _PART_SIZE)

    def _confine(self, size: int, computed_size: int) -> None:
        limits = self._reader.limits
        confine(limits.memory(size), limits.cpu_seconds(computed_size))

    def _is_worn(self) -> bool:
        """Whether so much memory was not given back that the next document would add to it."""
        release()
        now = private_memory()
        if now is None or self._least_memory is None:
            return False
        return now - self._least_memory > self._reader.limits.memory(0) // 2


def _stored(outcome: Outcome, path: Path) -> Path:
    """Write an outcome to a file, and its rows to files beside it; return its path."""
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
    stored = path.with_suffix(".outcome")
    content = replace(outcome, tables=tables, error=error)
    stored.write_bytes(pickle.dumps(content, pickle.HIGHEST_PROTOCOL))
    return stored
