"""The SEC's nightly zips: one member per issuer, parsed like the single file of that issuer.

A member that cannot be read is rejected by its name; the others are loaded.
"""

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from typing import IO

from assets.filings import companyfacts, submissions
from assets.parsing.parsed import Parsed, extend_parsed, join_parts
from assets.parsing.zips import UNREADABLE, open_zip, zip_members
from assets.source import Parse
from warehouse.record.landing import Document
from warehouse.record.tables import ENTITIES, FUNDAMENTALS, RecordTable

COMPANYFACTS, SUBMISSIONS = "sec-companyfacts-bulk", "sec-submissions-bulk"
# Issuers per part: a part is appended in one commit and held in memory.
ISSUERS_PER_PART = 48
# The largest issuers have about 20 MB of facts: a larger member is not an issuer's.
LARGEST_MEMBER = 256 << 20

_READ: dict[str, tuple[Parse, RecordTable]] = {
    COMPANYFACTS: (companyfacts.parse, FUNDAMENTALS),
    SUBMISSIONS: (submissions.parse, ENTITIES),
}
_MEMBER = re.compile(r"(?:.*/)?CIK[0-9]{10}(?:-submissions-[0-9]+)?\.json")


def parse(document: Document, body: bytes) -> Parsed:
    """Parse a small zip as a whole."""
    return join_parts(stream(document, io.BytesIO(body)))


def stream(document: Document, body: IO[bytes]) -> Iterator[Parsed]:
    """Parse a zip of any length, part by part; the source decides which parser its members need."""
    parse_member, table = _READ[document.source]
    parsed, read = Parsed(), 0
    for read, (name, member) in enumerate(_members(body), 1):
        if isinstance(member, str):
            parsed.reject(table, document, name, member)
        else:
            extend_parsed(
                # The member's own address, so that its rows say where they were read.
                parsed,
                parse_member(replace(document, url=f"{document.url}!/{name}"), member),
            )
        if read % ISSUERS_PER_PART == 0:
            yield parsed
            parsed = Parsed()
    if not read:
        parsed.reject(table, document, "", "the zip holds no issuer")
    if parsed.rows or parsed.rejected:
        yield parsed


def _members(body: IO[bytes]) -> Iterator[tuple[str, bytes | str]]:
    """Yield the name and body of every member; instead of the body a reason if it is unreadable."""
    try:
        with open_zip(body) as archive:
            for info in zip_members(archive):
                yield info.filename, _read(archive, info)
    except zipfile.BadZipFile as error:
        yield "", f"not a zip: {error}"


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes | str:
    """Read one member, but no more than its stated size: a zip bomb states a small one."""
    if not _MEMBER.fullmatch(info.filename):
        return "not named as the file of an issuer"
    if info.file_size > LARGEST_MEMBER:
        return f"{info.file_size} bytes unpacked: more than an issuer has"
    try:
        with archive.open(info) as member:
            return member.read(info.file_size)
    except UNREADABLE as error:
        return f"damaged: {error or type(error).__name__}"
