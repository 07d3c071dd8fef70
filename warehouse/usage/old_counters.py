"""Reading of the counter file of earlier versions, to import it.

After a head of 4,096 bytes the file is an array of slots, one per client and most of them empty: a
hash of the client, the key, end and count of the minute, the month, its count, and that of the
month before.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from warehouse.usage.counters import month_before

OLD_HEAD = b"sankofa usage 1\n"
_BEGIN = 4_096
_SLOT = struct.Struct("<16s16sdI8sQQ8x")
_READ_AT_ONCE = _SLOT.size << 14


def read_old_counters(path: Path) -> Iterator[tuple[bytes, bytes, list[tuple[str, int]]]]:
    """Yield the key, the hash of the client and the counted months of each slot in use.

    Nothing if there is no such file.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        if file.read(len(OLD_HEAD)) != OLD_HEAD:
            return
        file.seek(_BEGIN)
        while slots := file.read(_READ_AT_ONCE):
            # Most of the file was never written.
            if slots.count(0) == len(slots):
                continue
            whole = slots[: len(slots) - len(slots) % _SLOT.size]
            for mark, key, _, _, month, count, before in _SLOT.iter_unpack(whole):
                name, key_id = month.strip(b"\0").decode("ascii", "replace"), key.strip(b"\0")
                previous = month_before(name)
                # An empty slot has no month; one that was damaged has none that can be.
                if key_id and previous and name < "3000":
                    months = [(name, count), (previous, before)]
                    yield key_id, mark, [item for item in months if item[1]]
