"""Who bears which identifier, as it compares."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assets.entities.ids import mint
from assets.entities.known import Rows, rows_of
from assets.entities.registers import is_numbered, plain_number, register_of

IDENTIFIER = ("service_id", "id_type", "id_value", "issuer")
ENTITY = ("service_id", "lei", "same_as")

Key = tuple[str, str | None, str]


@dataclass
class Claims:
    """The identifiers that several ids bear, the LEI of each id, and which ids are listed."""

    shared: dict[Key, set[str]] = field(default_factory=dict)
    leis: dict[str, str] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)

    def joins(self, key: Key) -> bool:
        """Say whether an identifier makes one those who bear it: an ISIN only if listed."""
        return key in self.shared and (key[0] != "isin" or bool(self.shared[key] & self.listed))


def key_of(row: Mapping[str, Any]) -> Key | None:
    """Give an identifier as it compares; None where it names nothing by itself."""
    kind, number = row["id_type"], plain_number(row["id_value"])
    if kind != "registry" or number is None:
        return None if number is None else (kind, None, number)
    issuer = register_of(row.get("issuer"))
    return (kind, issuer, number) if issuer and is_numbered(number) else None


def claims_of(identifiers: Rows, entities: Rows) -> Claims:
    """Read who bears what; an id with several LEIs has only the one it was minted from."""
    claims, first = Claims(), dict[Key, str]()
    leis: dict[str, set[str]] = {}
    for row in rows_of(identifiers, IDENTIFIER):
        key, service_id = key_of(row), row["service_id"]
        if row["id_type"] == "ticker":
            claims.listed.add(service_id)
        elif row["id_type"] == "lei" and key:
            leis.setdefault(service_id, set()).add(key[2])
        elif row["id_type"] in ("registry", "isin") and key:
            _claim(claims, first, key, service_id)
    for row in rows_of(entities, ENTITY):
        if lei := plain_number(row.get("lei")):
            leis.setdefault(row["service_id"], set()).add(lei)
    for service_id, borne in leis.items():
        for lei in borne if len(borne) == 1 else _own(service_id, borne):
            claims.leis[service_id] = lei
            _claim(claims, first, ("lei", None, lei), service_id)
    return claims


def _claim(claims: Claims, first: dict[Key, str], key: Key, service_id: str) -> None:
    before = first.setdefault(key, service_id)
    if before != service_id:
        claims.shared.setdefault(key, {before}).add(service_id)


def _own(service_id: str, leis: set[str]) -> list[str]:
    return [lei for lei in leis if mint("lei", lei) == service_id]
