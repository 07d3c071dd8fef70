"""Whether a document is an archive that unpacks to more than its own size suggests."""

import io
import zlib
from contextlib import suppress
from itertools import accumulate
from typing import IO
from zipfile import BadZipFile

from assets.parsing.unpacking import zip_entries
from warehouse.errors import LandingError
from warehouse.record.landing import Document, Landing

_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_CHUNK = 1 << 16
# A zip of more members is large, whatever they are: its directory is not read to the end.
_MANY_MEMBERS = 10_000


def unpacks_to_more(landing: Landing, document: Document, most: int) -> bool:
    """Return whether a document is a zip or gzip of more than ``most`` bytes.

    No more than that is unpacked to find out. A damaged one is left to whoever reads it.
    """
    with suppress(LandingError, zlib.error, BadZipFile):
        start = landing.beginning(document, 4)
        if start.startswith(_GZIP):
            with landing.open(document) as body:
                return _gzip_exceeds(body, most)
        if start.startswith(_ZIP):
            return _zip_exceeds(io.BytesIO(landing.read(document)), most)
    return False


def _gzip_exceeds(body: IO[bytes], most: int) -> bool:
    size, member = 0, zlib.decompressobj(zlib.MAX_WBITS | 16)
    packed = body.read(_CHUNK)
    while packed:
        size += len(member.decompress(packed, _CHUNK))
        if size > most:
            return True
        packed = member.unconsumed_tail
        if member.eof:
            packed, member = member.unused_data, zlib.decompressobj(zlib.MAX_WBITS | 16)
        packed = packed or body.read(_CHUNK)
    return False


def _zip_exceeds(body: IO[bytes], most: int) -> bool:
    totals = enumerate(accumulate(entry.size for entry in zip_entries(body)))
    return any(total > most or number > _MANY_MEMBERS for number, total in totals)
