"""The SHA-256 of a document from the part of it that a person typed."""

import re

from warehouse.errors import SankofaError
from warehouse.record.erase import documents_like
from warehouse.record.landing import Landing
from warehouse.record.store import Record

_WHOLE = re.compile(r"[0-9a-f]{64}")
# As many characters as commands print.
_BEGINNING = re.compile(r"[0-9a-f]{12,63}")


def document_id(landing: Landing, record: Record, text: str) -> str | None:
    """Return the SHA-256 that a text is or begins; None if it is no such text, or of no document.

    Raise if several documents begin like it.
    """
    if _WHOLE.fullmatch(text):
        return text
    if not _BEGINNING.fullmatch(text):
        return None
    found = {document.sha256 for document in landing.find(sha256=text)}
    found.update(documents_like(record, text))
    if len(found) > 1:
        raise SankofaError(f"{len(found)} documents begin with {text!r}; give more characters")
    return next(iter(found), None)
