"""Keys as a request finds them."""

from warehouse.control.keys import Key, KeyStore


def find_key(store: KeyStore, key: str) -> Key | None:
    """Return a key if it is known and active."""
    found = store.look_up(key)
    return found if found is not None and found.is_active() else None
