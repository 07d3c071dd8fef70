"""The packs of a file of the mart as an LMDB file beside it: found by key and by row number.

``packs`` describes a pack. Three kinds of entries lie in one sorted table:

- ``r`` and the number of its first row: a pack, after the number of its rows.
- ``k``, the hash of a key and the number of a first row: a pack of that key. The value says how
  many rows it has, whether another pack of the key follows, and whether all rows are the latest.
- ``p``: every key with the part of the file that its rows lie in, as JSON.

Numbers are big-endian, so that LMDB sorts them. Keys are hashed, since LMDB bounds their length.
"""

import hashlib
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import lmdb
import msgspec
import zstandard

if TYPE_CHECKING:
    # Readers know the format as well, and load no Arrow.
    from warehouse.publish.packs import PackRow

ROWS, KEYS, PARTS = b"r", b"k", b"p"
ROW_NUMBER = struct.Struct(">Q")
# The number of rows, whether another pack of the key follows, and whether all rows are the latest.
ENTRY = struct.Struct("<I??")
COUNT = struct.Struct("<I")
# A page of LMDB, and what its tree takes beside the packs.
_PAGE, _SPARE = 4_096, 1 << 20


def key_prefix(key: str) -> bytes:
    """Return what the entries of a key begin with."""
    return KEYS + hashlib.blake2b(key.encode(), digest_size=16).digest()


def write_packs(path: Path, packs: "Sequence[PackRow]", by_key: bool) -> None:
    """Write all packs into a new file; ``by_key``: they can be found by their keys as well."""
    # LMDB needs to know how large a file can become: whole pages for each pack and each entry.
    map_size = _SPARE + sum(len(packed) + 4 * _PAGE for *_, packed in packs)
    options = {"subdir": False, "lock": False, "sync": False, "metasync": False}
    with (
        lmdb.open(str(path), map_size=map_size, **options) as env,
        env.begin(write=True) as transaction,
    ):
        entries: list[tuple[bytes, bytes]] = []
        parts: dict[tuple[str, str], None] = {}
        for first_row, key, has_next, all_latest, count, part, packed in packs:
            number = ROW_NUMBER.pack(first_row)
            # Appended: pages are filled, where LMDB would else leave room in each.
            transaction.put(ROWS + number, COUNT.pack(count) + packed, append=True)
            if by_key:
                entry = ENTRY.pack(count, has_next, all_latest)
                entries.append((key_prefix(key) + number, entry))
                parts[key, part] = None
        for name, entry in sorted(entries):
            transaction.put(name, entry)
        transaction.put(PARTS, msgspec.json.encode(list(parts)))


# Rows of a file that its dictionary is made of: more make it larger and little better.
_SAMPLES = 16
_LEVEL = 3


def dictionary_of(*kinds: Sequence[bytes]) -> bytes:
    """Return the dictionary of rows of some kinds: a few of each, evenly spread."""
    return b"".join(
        rows[number * len(rows) // _SAMPLES]
        for rows in kinds
        for number in range(min(_SAMPLES, len(rows)))
    )


def compressor(dictionary: bytes) -> Callable[[bytes], bytes]:
    """Return a function that compresses a row."""
    shared = _shared(dictionary)
    shared.precompute_compress(level=_LEVEL)
    return zstandard.ZstdCompressor(
        level=_LEVEL, dict_data=shared, write_checksum=False, write_dict_id=False
    ).compress


def decompressor(dictionary: bytes) -> Callable[[bytes], bytes]:
    """Return a function that decompresses a row; one for each thread."""
    return zstandard.ZstdDecompressor(dict_data=_shared(dictionary)).decompress


def _shared(dictionary: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
