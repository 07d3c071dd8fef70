"""Processes that read documents for the one that appends.

Jobs come in the order in which they are to be appended, and their outcomes leave in that order.
Only so many wait at a time: their rows lie in files, as Arrow tables that are mapped into memory
when it is their turn.

A process reads under limits (``_Serving``). One that dies takes down no other: the rest of
its job is given to another process, and a document at which two died is at fault itself. What is
left of a source's processes reads the next source: each takes a second or two to start.
"""

import atexit
import errno
import itertools
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import Pipe, connection
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from assets.ingest.failures import Raised
from assets.ingest.reading import Job, Outcome, Reader, ReadTable
from assets.parsing.limits import DocumentLimits
from warehouse.record.landing import Document
from warehouse.shared.errors import SankofaError

# Limits that the kernel enforces on a process that reads documents: memory and CPU time.
#
# Beyond the first an allocation fails, which Python and Arrow report as a MemoryError. Beyond the
# second the process ends with the signal ``OUT_OF_TIME``, whatever it is doing.

OUT_OF_TIME = signal.SIGPROF

_STATM = Path("/proc/self/statm")
_PAGE = resource.getpagesize()


def release() -> None:
    """Lift the limits of memory and CPU time."""
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
    if size == resource.RLIM_INFINITY or size > hard != resource.RLIM_INFINITY:
        size = hard
    resource.setrlimit(resource.RLIMIT_DATA, (size, hard))


# Bytes of documents from which on several processes save more than they cost.
WORTH_A_POOL = 32 << 20
# Jobs for each process that are read at a time, wait for it, or wait to be appended.
_AHEAD = 3
# Processes that end without having begun to read: somebody ended one, or none can start.
_MOST_DEAD_AT_ONCE = 3
# Processes that may end at one document: the first may have been ended by somebody.
_MOST_DEATHS = 2
# A process ends like this only by itself: out of time, or by what a library does when it has no
# memory or goes astray.
_BY_ITSELF = {-OUT_OF_TIME, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGILL}
# How a process ends that has no memory left to say so.
_OUT_OF_MEMORY = errno.ENOMEM
_BY_ITSELF.add(_OUT_OF_MEMORY)
# A part of a stream may cost as much as a document of this size.
_PART_SIZE = 8 << 20
# None of multiprocessing: that would import the main module of this process once more.
_PROGRAM = """
import sys
sys.path[:] = sys.argv[2:]
from assets.ingest.workers import work_at
work_at(int(sys.argv[1]))
"""
# The outcome of a job, or its file, and the documents that were taken out of it, with the reason.
_Read = tuple[Outcome | Path, list[tuple[str, str]]]


def readers(reader: Reader, documents: Sequence[Document], processes: int) -> "WorkerPool":
    """Return what reads documents: one process, or several if there is enough to read."""
    is_worth_it = sum(document.size for document in documents) >= WORTH_A_POOL
    return WorkerPool(pickle.dumps(reader), processes if is_worth_it else 1, reader.limits)


@dataclass
class _Worker:
    """A process, and the reader that it was sent last."""

    process: "subprocess.Popen[bytes]"
    pipe: "connection.Connection[Any, Any]"
    reader: bytes = b""

    @classmethod
    def start(cls) -> "_Worker":
        """Start a process, which waits for jobs."""
        # Not forked: Arrow and DuckDB have threads that a fork loses.
        ours, theirs = Pipe()
        command = [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), *sys.path]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()])  # noqa: S603
        theirs.close()
        return cls(process, ours)

    def end(self) -> None:
        """End the process."""
        self.pipe.close()
        self.process.kill()
        self.process.wait()


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
        if worker.process.poll() is None:
            return worker
        worker.end()
    return _Worker.start()


class WorkerPool:
    """Reads jobs in ``processes`` processes; use it in a ``with``.

    A thread waits for each process, so that none is idle while this one appends.
    """

    def __init__(self, pickled_reader: bytes, processes: int, limits: DocumentLimits) -> None:
        self._processes, self._limits, self._reader = processes, limits, pickled_reader
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []
        self._is_over = False
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(processes)
        self._scratch = tempfile.TemporaryDirectory(prefix="sankofa-ingest-")
        self._files = itertools.count()
        self._dead_at_once = 0

    @property
    def is_parallel(self) -> bool:
        """Whether there are processes to read pieces that another one cuts."""
        return self._processes > 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        with self._lock:
            self._is_over = True
            for worker in self._busy:
                # Its thread notices, and closes the pipe.
                worker.process.kill()
        self._threads.shutdown(cancel_futures=True)
        if kind is None and self._idle and not _spare:
            _spare.append(self._idle.pop())
        for worker in (*self._idle, *self._busy):
            worker.end()
        self._scratch.cleanup()

    def run(self, jobs: Iterator[Job]) -> Iterator[tuple[Job, Outcome | None]]:
        """Yield each job with its outcome, in order; None for a job that is not for a process."""
        turns: deque[tuple[Job, Future[_Read] | None]] = deque()
        while True:
            for job in itertools.islice(jobs, _AHEAD * self._processes - len(turns)):
                is_read = job.is_reading
                turns.append((job, self._threads.submit(self._read, job) if is_read else None))
            if not turns:
                return
            job, read = turns.popleft()
            outcome = None if read is None else _opened(*read.result())
            if isinstance(job.piece, Path):
                job.piece.unlink()
            yield job, outcome

    def parts(self, document: Document) -> Iterator[Outcome]:
        """Yield a large document part by part; the last outcome says how it ended."""
        return map(_opened, self._several(Job("stream", (document,))))

    def pieces(self, document: Document) -> Iterator[Any]:
        """Yield the files of the pieces of a large document; the last is the outcome."""
        for piece in self._several(Job("cut", (document,))):
            is_piece = isinstance(piece, Path) and piece.suffix != ".outcome"
            yield piece if is_piece else _opened(piece)

    def _several(self, job: Job) -> Iterator[Path | Outcome]:
        """Yield what a process of its own makes of a job, one after the other."""
        (document,) = job.documents
        for death in range(1, _MOST_DEATHS + 1):
            worker, parts, is_done = self._given(job), 0, False
            try:
                while not is_done:
                    message, value = worker.pipe.recv()
                    is_done = message == "done"
                    if is_done:
                        self._release(worker)
                    else:
                        # Before it is used: the next one is read meanwhile.
                        worker.pipe.send("more")
                    parts += 1
                    yield value
                return
            except (EOFError, OSError):
                exit_code = self._bury(worker)
            except GeneratorExit:
                if not is_done:
                    worker.process.kill()
                    self._bury(worker)
                raise
            # What was read would be read again, and be appended after what came later.
            if death == _MOST_DEATHS or exit_code in _BY_ITSELF or parts:
                yield Outcome(exceeded=[(document.key, self._why_dead(exit_code, _PART_SIZE))])
                return

    def _read(self, job: Job) -> _Read:
        """Let a process read a job.

        A document at which a second process, or a limit, ended is taken out of the job.
        """
        deaths, exceeded = Counter[str](), list[tuple[str, str]]()
        while job.documents:
            worker, is_reading, begun = self._given(job), False, None
            try:
                while True:
                    message, value = worker.pipe.recv()
                    if message == "done":
                        self._release(worker)
                        return value, exceeded
                    is_reading, begun = True, value
            except (EOFError, OSError):
                exit_code = self._bury(worker)
            if not is_reading:
                self._count_dead_at_once(exit_code)
                continue
            if begun is None and len(job.documents) > 1:
                return Outcome(is_too_much=True), []
            document = job.documents[begun or 0]
            deaths[document.key] += 1
            if deaths[document.key] == _MOST_DEATHS or exit_code in _BY_ITSELF:
                reason = self._why_dead(exit_code, job.size or document.size)
                exceeded.append((document.key, reason))
                left = tuple(other for other in job.documents if other is not document)
                job = replace(job, documents=left)
        return Outcome(), exceeded

    def _given(self, job: Job) -> _Worker:
        """Return a process that was given a job."""
        path = Path(self._scratch.name, f"{next(self._files)}.job")
        while True:
            with self._lock:
                if self._is_over:
                    raise RuntimeError("the load has ended")
                worker = self._idle.pop() if self._idle else _started()
                self._busy.append(worker)
            try:
                is_known = worker.reader == self._reader
                worker.pipe.send((None if is_known else self._reader, job, path))
                worker.reader = self._reader
                return worker
            except OSError:
                # It ends by itself when it has taken too much memory.
                self._count_dead_at_once(self._bury(worker))

    def _release(self, worker: _Worker) -> None:
        with self._lock:
            self._busy.remove(worker)
            self._idle.append(worker)

    def _bury(self, worker: _Worker) -> int:
        """Return the exit code of a process that ended."""
        with self._lock:
            self._busy.remove(worker)
        worker.pipe.close()
        return worker.process.wait()

    def _count_dead_at_once(self, exit_code: int) -> None:
        self._dead_at_once += exit_code != 0
        if self._dead_at_once > _MOST_DEAD_AT_ONCE:
            raise SankofaError(
                "processes that were started to read documents ended before they began (exit "
                f"code {exit_code}); see the log for the reason"
            )

    def _why_dead(self, exit_code: int, size: int) -> str:
        """Return the reason against a document at which a process ended."""
        if exit_code == -OUT_OF_TIME:
            return self._limits.out_of_time(size)
        if exit_code == _OUT_OF_MEMORY:
            return self._limits.out_of_memory(size)
        how = f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
        return self._limits.killed(how, size)


def _opened(read: Outcome | Path, exceeded: Sequence[tuple[str, str]] = ()) -> Outcome:
    """Return an outcome; of one in a file, the rows are mapped into memory and the file goes."""
    if isinstance(read, Path):
        # Our own file, from this run.
        stored: Outcome = pickle.loads(read.read_bytes())  # noqa: S301
        read.unlink()
        tables = []
        for table in stored.tables:
            path: Any = table.prepared.rows
            with pa.memory_map(path) as mapped:
                rows = pa.ipc.open_file(mapped).read_all()
            # It stays readable while it is mapped.
            Path(path).unlink()
            tables.append(replace(table, prepared=replace(table.prepared, rows=rows)))
        read = replace(stored, tables=tables)
    return replace(read, exceeded=[*exceeded, *read.exceeded])


def work_at(file: int) -> None:
    """Do jobs until there are no more, which is when the other end of the pipe is closed."""
    # The first process decides what an interruption means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # There are as many processes as cores.
    pa.set_cpu_count(1)
    # Arrow's own allocator keeps what it has once had.
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        with suppress(EOFError, ConnectionError), connection.Connection(file) as pipe:
            _Serving(pipe).serve()
    except MemoryError:
        # The other process says it, in words.
        os._exit(_OUT_OF_MEMORY)


class _Serving:
    """Does jobs in a process of a pool."""

    def __init__(self, pipe: "connection.Connection[Any, Any]") -> None:
        self._pipe = pipe
        self._reader: Reader
        self._least_memory: int | None = None
        # The limit of memory now, and the bytes that the documents of a job unpacked to.
        self._most_memory: int | None = None
        self._unpacked = 0

    def serve(self) -> None:
        """Do jobs; return when this process has taken more memory than a new one would."""
        while not self._is_worn():
            reader, job, file = self._pipe.recv()
            if reader is not None:
                received: Reader = pickle.loads(reader)  # noqa: S301
                self._reader = replace(received, unpacking=self._permit)
                # What every reader needs is not counted against the first document.
                self._reader.nothing()
            if self._least_memory is None:
                self._least_memory = private_memory()
            if job.kind in ("stream", "cut"):
                self._send_parts(job, file)
            else:
                self._do(job, file)

    def _do(self, job: Job, file: Path) -> None:
        if job.kind == "piece":
            job = replace(job, piece=pickle.loads(job.piece.read_bytes()))  # noqa: S301

        def begin(number: int | None) -> None:
            self._pipe.send(("begun", number))
            chosen = job.documents if number is None else job.documents[number : number + 1]
            size = job.size or sum(document.size for document in chosen)
            size += self._unpacked if number is None else 0
            self._confine(size, size)

        self._unpacked = 0
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
        """Limit memory beyond what is used now, and CPU seconds from now on.

        Memory is limited where the kernel tells how much a process has, which is on Linux.
        """
        limits, self._most_memory = self._reader.limits, None
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_seconds(computed_size))
        if (used := private_memory()) is not None:
            # Data and not address space: allocators reserve more than they use.
            self._most_memory = used + limits.memory(size)
            _limit_data(self._most_memory)

    def _permit(self, unpacked: int) -> None:
        """Permit what so many bytes may cost that a document unpacks to, beyond its own."""
        limits, left = self._reader.limits, signal.getitimer(signal.ITIMER_PROF)[0]
        self._unpacked += unpacked
        seconds = limits.cpu_seconds(unpacked) - limits.cpu_seconds(0)
        signal.setitimer(signal.ITIMER_PROF, left + seconds)
        if self._most_memory is not None:
            self._most_memory += limits.memory(unpacked) - limits.memory(0)
            _limit_data(self._most_memory)

    def _is_worn(self) -> bool:
        """Whether so much memory was not given back that the next document would add to it."""
        release()
        now = private_memory()
        if now is None or self._least_memory is None:
            return False
        return now - self._least_memory > self._reader.limits.memory(0) // 2


def _stored(outcome: Outcome, path: Path) -> Path:
    """Write an outcome to a file, and its rows to files next to it; return its path."""
    tables = []
    for number, table in enumerate(outcome.tables):
        file = str(path.with_suffix(f".{number}.arrow"))
        rows = table.prepared.rows
        with pa.OSFile(file, "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows)
        prepared = replace(table.prepared, rows=file)
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
