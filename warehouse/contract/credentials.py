"""The key as a client sends it."""

from warehouse.contract.problems import Problem
from warehouse.keys import Key, KeyStore, find


def sent_key(api_key: str | None, authorization: str | None) -> str | None:
    """Give the key of X-API-Key, or else the bearer's; some agents can send no other header."""
    scheme, _, token = (authorization or "").partition(" ")
    return api_key or (token.strip() if scheme.lower() == "bearer" else None)


def admitted(store: KeyStore, sent: str | None) -> Key:
    """Give the key that was sent, if it is one of ours."""
    if not sent:
        raise Problem("key_missing", "Send your API key in the header X-API-Key.")
    key = find(store, sent)
    if key is None:
        raise Problem("key_invalid", "This API key is not known.")
    return key
