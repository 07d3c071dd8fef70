"""The SEC's nightly zips: one file per issuer, the same that is served at its own address.

``submissions.zip`` names about a million filers and ``companyfacts.zip`` has gigabytes of facts:
members are read one at a time, and most of the former only as far as their addresses.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO
from zipfile import BadZipFile

from assets.fetching.client import FetchError
from assets.filings.issuers import follows_rule, may_follow
from assets.parsing.unpacking import ZipEntry, read_beginning, read_entry, zip_entries

# The largest issuers have about 20 MB of facts: a larger member is not an issuer's.
LARGEST_MEMBER = 256 << 20

# A list of submissions begins with the filer and ends with the filings.
_HEAD = 4 << 10
_ADDRESSES, _FILINGS = b'"addresses"', b'"filings"'
_NAME = re.compile(r"(?:.*/)?(CIK([0-9]{10})(-submissions-[0-9]+)?\.json)")


def file_name(member_name: str) -> str | None:
    """Return the name of the file of an issuer that a member is; None if it is none."""
    match = _NAME.fullmatch(member_name)
    return match[1] if match else None


@dataclass(frozen=True)
class Member:
    """A file of an issuer in a zip; ``older``: an older page of its list of submissions."""

    name: str
    cik: str
    older: bool
    entry: ZipEntry


class BulkFile:
    """A zip of issuers' files, in a file that stays open."""

    def __init__(self, body: IO[bytes]) -> None:
        self._body = body

    def members(self) -> Iterator[Member]:
        """Yield the files of issuers; others, such as a placeholder, are passed by.

        BadZipFile if this is no zip.
        """
        for entry in zip_entries(self._body):
            if match := _NAME.fullmatch(entry.name):
                yield Member(match[1], match[2], match[3] is not None, entry)

    def read(self, member: Member) -> bytes:
        """Return the content of a member; ValueError if it is damaged or too large."""
        size = max(member.entry.size, member.entry.packed_size)
        if size > LARGEST_MEMBER:
            raise ValueError(f"{size} bytes: more than an issuer has")
        try:
            return read_entry(self._body, member.entry)
        except BadZipFile as error:
            raise ValueError(f"damaged: {error}") from None

    def may_follow(self, member: Member) -> bool:
        """Return False if the rule cannot take a filer, from the beginning of its list."""
        try:
            head = read_beginning(self._body, member.entry, _HEAD)
            addresses = head.find(_ADDRESSES)
            filings = head.find(_FILINGS, addresses)
            return may_follow(head[:filings] if 0 <= addresses < filings else self.read(member))
        except (BadZipFile, ValueError):
            # Reading all of it will say what is wrong.
            return True


@contextmanager
def open_bulk(body: IO[bytes], url: str) -> Iterator[BulkFile]:
    """Open a downloaded zip; FetchError if it is none, also where that shows later."""
    try:
        yield BulkFile(body)
    except BadZipFile as error:
        raise FetchError(f"{url} is not a whole zip: {error}; try again", retryable=True) from None


def issuers_by_rule(submissions: BulkFile) -> tuple[set[str], dict[str, str]]:
    """Return the CIKs that the rule takes, and why some filers could not be judged, by CIK."""
    followed: set[str] = set()
    unreadable: dict[str, str] = {}
    for member in submissions.members():
        if member.older or not submissions.may_follow(member):
            continue
        try:
            if follows_rule(submissions.read(member)):
                followed.add(member.cik)
        except ValueError as error:
            unreadable[member.cik] = str(error)
    return followed, unreadable
