"""Parse a long body of releases piece by piece, so that memory stays flat.

A piece can be read by itself, in another process: ``pieces`` cuts them. Where a body breaks off,
what came before is kept.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from assets.parsing.parsed import Parsed
from assets.parsing.pieces import InPieces
from assets.tenders.parse import ReleaseReader
from assets.tenders.pieces import HEAD, SIZE, Part, cut, releases_in_part
from assets.tenders.portals import Portal
from warehouse.record.landing import Document


def in_pieces(portal: Portal, key: bytes, *, size: int = SIZE, head: int = HEAD) -> InPieces:
    """Return the parser of long bodies of a portal.

    ``key`` is the secret under which withheld parties are hashed. A piece has some ``size`` bytes;
    ``head`` bytes decide how a body is cut.
    """
    return InPieces(partial(cut, size=size, head=head), partial(read_piece, portal=portal, key=key))


def read_piece(document: Document, piece: list[Part], portal: Portal, key: bytes) -> Parsed:
    """Parse every release of a piece; one that cannot be stored is rejected with the reason."""
    with gc_paused():
        reader = ReleaseReader(document, portal, key)
        for part in piece:
            for item in releases_in_part(part):
                reader.read(item)
        return reader.parsed()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection: parsing makes no cycles, and the search takes 10 % of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
