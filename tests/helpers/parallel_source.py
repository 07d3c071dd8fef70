"""A source whose parser other processes can import, and whose documents can make them fail or die.

Documents are lines of ``item=value``, as those of ``monthly_portal``. At ``bug`` the parser raises;
at ``die`` its process is killed, unless it is the first one.
"""

import io
import os
import signal
from collections.abc import Iterator
from multiprocessing import parent_process
from typing import IO

from assets.parsing.parsed import Parsed
from assets.parsing.pieces import InPieces
from assets.source import Parser, Source
from tests.helpers import monthly_portal
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES


def parse(document: Document, body: bytes) -> Parsed:
    if b"bug" in body:
        raise RuntimeError("a bug")
    if b"die" in body and parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
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
