"""How the process keeps the memory of one answer for the next."""

import ctypes
from contextlib import suppress

# The numbers by which mallopt of glibc knows them.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3


def keep_memory() -> None:
    """Give freed memory back to the system only above 64 MB.

    Else each large body is made on fresh pages, and the kernel's clearing of them takes longer
    than the reading of the rows. Where the C library is another one, nothing changes.
    """
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, 32 << 20)
        mallopt(_TRIM_THRESHOLD, 64 << 20)
        mallopt(_TOP_PAD, 8 << 20)
