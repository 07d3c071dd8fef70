"""A source whose parser other processes can import, and whose documents can make them fail or die.

Documents are lines of ``item=value``, as those of ``monthly_portal``. At ``bug`` the parser raises;
at ``die`` its process is killed, and ends itself at ``abort``, unless it is the first one. ``hog``
takes all memory, ``spin`` all time, ``deep`` all levels of calls.
"""

import io
import os
import signal
import sys
from collections.abc import Iterator
from typing import IO

from assets.parsing.parsed import InPieces, Parsed
from assets.source import Parser, Source
from tests.helpers import monthly_portal
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES


def parse(document: Document, body: bytes) -> Parsed:
    if b"bug" in body:
        raise RuntimeError("a bug")
    if b"die" in body and "pytest" not in sys.modules:
        os.kill(os.getpid(), signal.SIGKILL)
    if b"abort" in body and "pytest" not in sys.modules:
        os.abort()
    if body == b"hog":
        bytes(1 << 40)
    while body == b"spin":
        pass
    if body == b"deep":
        return parse(document, body)
    return monthly_portal.parse(document, body)


def cut(body: IO[bytes]) -> Iterator[bytes]:
    for line in io.BytesIO(body.read()):
        if b"uncut" in line:
            raise RuntimeError("a bug of the cutter")
        yield line


SOURCE = Source(
    "test",
    "macro",
    "Test",
    "cc0",
    "CC0",
    Parser(1, parse, InPieces(cut, parse)),
    (MACRO_SERIES,),
    complete=True,
)
