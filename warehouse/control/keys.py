"""API keys: issuing, finding, rotating and revoking them.

A key is shown once and stored as its SHA-256 with a short public prefix. The sandbox key is public:
it alone is also stored in clear, to be shown again.
"""

import hashlib
import logging
import secrets
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from math import inf
from pathlib import Path

import msgspec
from sqlmodel import Session, col, select

from warehouse.control.models import ActionKind, ApiKey, ControlDatabase, Secret, new_action
from warehouse.shared.errors import ControlUnavailable, SankofaError
from warehouse.shared.metrics import count_store_failure
from warehouse.shared.texts import KEY_START
from warehouse.shared.tiers import TIERS, Tier, TierName

_LOG = logging.getLogger("sankofa.control")
_PREFIX_LENGTH = len(KEY_START) + 4
# A changed key takes effect within a second.
_LOOK_SECONDS = 0.5
# A failure that lasts is logged again after so many looks.
_LOOKS_A_LOG = 120


class Key(msgspec.Struct, frozen=True):
    """A key as requests need it: its tier, and the id its use is counted under.

    The tier is limited to the datasets of the key. ``ends`` is in seconds since 1970; ``expires``
    says that the key ends on a day set when it was created, and was not revoked or replaced.
    """

    prefix: str
    tier: Tier
    key_id: str = ""
    sandbox: bool = False
    ends: float = inf
    expires: bool = False
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    def is_active(self) -> bool:
        """Return whether the key has not ended."""
        return time.time() < self.ends

    def may_be_sent_from(self, address: str | None) -> bool:
        """Return whether the address of a client is in a network of the key."""
        client = client_address(address)
        return client is not None and any(client in network for network in self.networks)


class KeyStore:
    """The keys of a control database, kept in memory as hashes.

    A thread looks every half second whether they have changed. If the database cannot be read, the
    keys read last go on working; one that is not among them is then neither known nor unknown.
    Create it after a fork: threads are not inherited.
    """

    def __init__(self, location: str | Path, tiers: Mapping[TierName, Tier] = TIERS) -> None:
        self.database = ControlDatabase(location)
        self.tiers: Mapping[str, Tier] = {str(name): tier for name, tier in tiers.items()}
        self._keys: dict[str, Key] = {}
        self._stamp: object = None
        self._failure: ControlUnavailable | None = None
        self._failed_looks = 0
        self._turn = threading.Lock()
        self._watcher: threading.Thread | None = None

    def look_up(self, key: str) -> Key | None:
        """Return the key with this text, also one that has ended; None if it is unknown.

        It is looked up by its hash: what the time taken may reveal of hashes leads to no key.
        """
        if not key.isascii():
            return None
        if self._watcher is None:
            self._start_watcher()
        digest = _digest(key)
        found = self._keys.get(digest)
        if found is None and self.database.path is not None:
            # It may have been created a moment ago. To look at a file costs next to nothing; a
            # query for each unknown key would let anyone load a server.
            self.refresh()
            found = self._keys.get(digest)
        if found is None and self._failure is not None:
            raise ControlUnavailable(self._failure.reason) from self._failure
        return found

    def refresh(self) -> None:
        """Read all keys if the database has changed; keep those there are if it cannot be read."""
        with self._turn:
            try:
                stamp = self.database.stamp()
                if stamp == self._stamp:
                    return
                with self.database.reading() as session:
                    rows = session.exec(select(ApiKey)).all()
                self._keys = {row.sha256: self._key(row) for row in rows}
                self._stamp = stamp
            except ControlUnavailable as error:
                self._failed(error)
                return
            if self._failure is not None:
                _LOG.warning("the control database is back")
                self._failure, self._failed_looks = None, 0

    def check(self) -> None:
        """Look whether the keys have changed; raise ControlUnavailable if that fails."""
        self.refresh()
        if self._failure is not None:
            raise ControlUnavailable(self._failure.reason) from self._failure

    def _failed(self, error: ControlUnavailable) -> None:
        self._stamp, self._failure = None, error
        count_store_failure("key_store")
        if self._failed_looks % _LOOKS_A_LOG == 0:
            _LOG.error("%s; the %d keys read before go on working", error, len(self._keys))
        self._failed_looks += 1

    def _key(self, row: ApiKey) -> Key:
        tier = self.tiers.get(row.tier)
        if tier is None:
            raise ControlUnavailable(f"{row.prefix} has the unknown tier {row.tier!r}")
        if row.datasets:
            tier = replace(tier, datasets=frozenset(row.datasets))
        last = row.last_moment()
        return Key(
            row.prefix,
            tier,
            row.key_id,
            row.sandbox,
            inf if last is None else last.timestamp(),
            last is not None and last == row.expires_at,
            tuple(map(ip_network, row.networks)),
        )

    def _start_watcher(self) -> None:
        self.refresh()
        # A store that is used no more takes its thread along.
        self._watcher = threading.Thread(
            target=_watch, args=(weakref.ref(self),), name="control", daemon=True
        )
        self._watcher.start()


def _watch(reference: "weakref.ref[KeyStore]") -> None:
    while True:
        time.sleep(_LOOK_SECONDS)
        store = reference()
        if store is None:
            return
        store.refresh()
        del store


def create_key(
    store: KeyStore,
    tier: TierName,
    label: str = "",
    *,
    expires_at: datetime | None = None,
    datasets: Sequence[str] = (),
    networks: Sequence[str] = (),
    why: str = "",
) -> str:
    """Create a key of a tier; only its hash is stored, so this is the only time it is shown.

    It may expire, and may be limited to datasets and to networks in CIDR notation.
    """
    key = _new_key()
    row = _issue(key, tier, label)
    row.expires_at, row.datasets = expires_at, list(datasets)
    row.networks = [str(ip_network(network)) for network in networks]
    with store.database.writing() as session:
        _save(session, "keys create", row, row, why=why)
    store.refresh()
    return key


def sandbox(store: KeyStore) -> str:
    """Return the public sandbox key, a key of the sample tier; create it the first time."""
    with store.database.writing() as session:
        secret = session.get(Secret, "sandbox")
        if secret is not None:
            return secret.value.decode()
        key = _new_key()
        row = _issue(key, "sample", "sandbox")
        row.sandbox = True
        session.add(Secret(name="sandbox", value=key.encode()))
        _save(session, "keys create", row, row)
    store.refresh()
    return key


def usable_sandbox_key(store: KeyStore) -> str | None:
    """Return the sandbox key if there is one and it is active."""
    with store.database.reading() as session:
        secret = session.get(Secret, "sandbox")
        if secret is None:
            return None
        key = secret.value.decode()
        row = session.get(ApiKey, _digest(key))
    return key if row is not None and row.is_active() else None


def list_keys(store: KeyStore) -> list[ApiKey]:
    """Return every key that was ever issued, oldest first."""
    with store.database.reading() as session:
        return _issued(session)


def revoke_key(store: KeyStore, name: str, why: str = "") -> ApiKey:
    """Revoke a key by prefix or id, including predecessors still valid after a rotation."""
    with store.database.writing() as session:
        rows, now = _active_rows(session, name), datetime.now(UTC)
        for row in rows:
            row.ends_at = now
        _save(session, "keys revoke", rows[-1], *rows, why=why)
    store.refresh()
    return rows[-1]


def rotate_key(store: KeyStore, name: str, overlap: timedelta = timedelta(0), why: str = "") -> str:
    """Replace a key with a new one of the same tier, label, limits and usage count.

    The old key ends after ``overlap``, so that a customer can switch over.
    """
    with store.database.writing() as session:
        rows = _active_rows(session, name)
        # Two rows if an earlier rotation still overlaps: the newest one is continued, all are
        # ended.
        last, key, ends = rows[-1], _new_key(), datetime.now(UTC) + overlap
        if last.sandbox:
            raise SankofaError("the sandbox key is public; it is revoked, not rotated")
        for row in rows:
            row.ends_at = min(filter(None, (ends, row.ends_at)))
        new = last.model_copy(
            update={
                "sha256": _digest(key),
                "prefix": _prefix(key),
                "created_at": datetime.now(UTC),
                "ends_at": None,
            }
        )
        _save(session, "keys rotate", last, *rows, ApiKey(**new.model_dump()), why=why)
    store.refresh()
    return key


def signing_secret(store: KeyStore, name: str) -> bytes:
    """Return the secret that the service signs with for a purpose; create it the first time."""
    entry = f"signing:{name}"
    with store.database.reading() as session:
        secret = session.get(Secret, entry)
    if secret is None:
        with store.database.writing() as session:
            # Of two processes that create it at once, the second reads that of the first.
            secret = session.get(Secret, entry)
            if secret is None:
                secret = Secret(name=entry, value=secrets.token_bytes(32))
                session.add(secret)
    return secret.value


def client_address(text: str | None) -> IPv4Address | IPv6Address | None:
    """Return the address of a client; None if it is none."""
    try:
        # A link-local address may carry the name of its interface: fe80::1%eth0.
        client = ip_address((text or "").partition("%")[0])
    except ValueError:
        return None
    return (client.ipv4_mapped or client) if isinstance(client, IPv6Address) else client


def _save(session: Session, kind: ActionKind, about: ApiKey, *rows: ApiKey, why: str = "") -> None:
    """Store keys together with the action that changes them."""
    action = new_action(kind, f"{about.prefix} of the {about.tier} tier, id {about.key_id}", why)
    action.ended_at = action.began_at
    session.add_all([*rows, action])


def _issued(session: Session) -> list[ApiKey]:
    return list(session.exec(select(ApiKey).order_by(col(ApiKey.created_at))))


def _active_rows(session: Session, name: str) -> list[ApiKey]:
    """Return the active rows of one key, newest last."""
    rows = [row for row in _issued(session) if row.is_active()]
    ids = {row.key_id for row in rows if name in (row.prefix, row.key_id)}
    if not ids:
        raise SankofaError(
            f"no key in use has the prefix or id {name[:_PREFIX_LENGTH]!r}; see the list"
        )
    if len(ids) > 1:
        raise SankofaError(f"{len(ids)} keys have the prefix {name!r}; name the id instead")
    return [row for row in rows if row.key_id in ids]


def _issue(key: str, tier: TierName, label: str) -> ApiKey:
    return ApiKey(
        sha256=_digest(key),
        prefix=_prefix(key),
        key_id=secrets.token_hex(8),
        tier=tier,
        label=label,
        created_at=datetime.now(UTC),
    )


def _new_key() -> str:
    return KEY_START + secrets.token_urlsafe(32)


def _prefix(key: str) -> str:
    return key[:_PREFIX_LENGTH]


def _digest(key: str) -> str:
    # A plain hash is enough: unlike a password, 256 random bits cannot be guessed.
    return hashlib.sha256(key.encode("ascii")).hexdigest()
