"""Documents read in this process, with a parser that cannot be sent to another one."""

from collections.abc import Iterator, Sequence
from typing import Self

from assets.ingest.reading import Job, Outcome, Reader
from warehouse.record.landing import Document


class InThisProcess:
    """Reads each job when it is its turn; replaces ``assets.ingest.load.readers``."""

    is_parallel = False

    def __init__(self, reader: Reader, documents: Sequence[Document], processes: int) -> None:
        self._reader = reader

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, jobs: Iterator[Job]) -> Iterator[tuple[Job, Outcome | None]]:
        for job in jobs:
            yield job, self._reader.run(job) if job.is_reading else None

    def parts(self, document: Document) -> Iterator[Outcome]:
        return self._reader.parts(document)
