"""Receipts: what a service answered to a question and when, signed, and checked without it."""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sankofa_client.bulk import verify_signature
from sankofa_client.errors import SignatureInvalid

_RECEIPT = re.compile(rb'(\{.+),"signature":"([A-Za-z0-9+/=]+)"\}', re.DOTALL)


@dataclass(frozen=True)
class Receipt:
    """An answer as it was sent, its receipt, what that states, and the key that signed it."""

    body: bytes
    receipt: str
    stated: Mapping[str, Any]
    signing_key: str


def verify_receipt(
    receipt: str | bytes, body: bytes, signing_key: str | bytes
) -> Mapping[str, Any]:
    """Return what a receipt states of an answer: question, as_of, data_version, sha256 and time.

    ``signing_key`` is the public key of the service, in PEM. Raises ``SignatureInvalid`` if any
    byte of the receipt or of the answer is another one.
    """
    key = signing_key.encode() if isinstance(signing_key, str) else signing_key
    return checked(
        receipt, body, lambda signed, signature: verify_signature(signed, signature, key)
    )


def checked(
    receipt: str | bytes, body: bytes, check_signature: Callable[[bytes, bytes], None]
) -> Mapping[str, Any]:
    """Return what a receipt states of an answer, whose signature a function checks."""
    sent = receipt.encode() if isinstance(receipt, str) else receipt
    found = _RECEIPT.fullmatch(sent)
    try:
        # The same bytes can be spelt in several ways; only that of the service is accepted.
        signature = base64.b64decode(found[2], validate=True) if found else b""
    except binascii.Error:
        signature = b""
    if found is None or base64.b64encode(signature) != found[2]:
        raise SignatureInvalid("This is no receipt, or it was changed.")
    check_signature(found[1], signature)
    stated: Mapping[str, Any] = json.loads(found[1] + b"}")
    if stated["sha256"] != hashlib.sha256(body).hexdigest():
        raise SignatureInvalid("The receipt is right, and of another answer than this one.")
    return stated
