"""Receipts: what was answered to a question and when, signed, to be checked by anybody offline.

A receipt is a JSON object in ASCII: the question, the day and the data_version of the answer,
the SHA-256 of its body, and the time. Its last member is the signature of all bytes before that
member, so that no other spelling of the same JSON is a receipt.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from warehouse.contract.problems import invalid_parameter
from warehouse.shared.errors import SankofaError
from warehouse.shared.signing import SigningKey, is_signed

_RECEIPT = re.compile(rb'(\{.+),"signature":"([A-Za-z0-9+/=]+)"\}', re.DOTALL)


class Receipts:
    """Writes receipts with the key that signs the manifests of exports; ``path`` is its file."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def write(
        self, query: Mapping[str, object], as_of: date | None, data_version: str | None, body: bytes
    ) -> str:
        """Return the receipt of an answer."""
        stated = {
            "question": query,
            "as_of": None if as_of is None else as_of.isoformat(),
            "data_version": data_version,
            "sha256": hashlib.sha256(body).hexdigest(),
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        signed = json.dumps(stated, separators=(",", ":"))[:-1]
        signature = base64.b64encode(self._key.sign(signed.encode())).decode()
        return f'{signed},"signature":"{signature}"}}'

    def check(self) -> None:
        """Refuse a receipt if this server has no key, before anything is read."""
        _ = self._key

    @cached_property
    def _key(self) -> SigningKey:
        # Only publications make a key: what a second one signs could not be checked.
        if self._path is None or not self._path.exists():
            expected = "false, or left out: this server has no signing key to sign it with"
            raise invalid_parameter("receipt", "true", expected)
        return SigningKey.at(self._path)


def checked_receipt(receipt: bytes, body: bytes, public_pem: bytes) -> dict[str, Any]:
    """Return what a receipt states of a body; raise unless a key signed it, for this body."""
    found = _RECEIPT.fullmatch(receipt)
    if found is None:
        raise SankofaError("This is no receipt: it does not end with its signature.")
    try:
        signature = base64.b64decode(found[2], validate=True)
    except binascii.Error:
        signature = b""
    # The same bytes can be spelt in several ways; only ours is accepted.
    if base64.b64encode(signature) != found[2] or not is_signed(found[1], signature, public_pem):
        raise SankofaError("The receipt was changed, or is not signed with this key.")
    stated: dict[str, Any] = json.loads(found[1] + b"}")
    if stated["sha256"] != hashlib.sha256(body).hexdigest():
        raise SankofaError("The receipt is right, and of another answer than these bytes.")
    return stated
