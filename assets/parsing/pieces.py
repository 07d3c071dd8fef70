"""A parser of large bodies that reads them in pieces, each of which any process can read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from assets.parsing.parsed import Parsed
from warehouse.record.landing import Document


@dataclass(frozen=True)
class InPieces:
    """Cuts a body into pieces, which is cheap, and reads them one by one, which is not.

    ``cut`` yields values that can be pickled. ``read`` needs no other piece of the document.
    """

    cut: Callable[[IO[bytes]], Iterator[Any]]
    read: Callable[[Document, Any], Parsed]

    def __call__(self, document: Document, body: IO[bytes]) -> Iterator[Parsed]:
        """Read a body piece by piece, in this process."""
        for piece in self.cut(body):
            yield self.read(document, piece)
