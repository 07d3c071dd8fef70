"""Identifiers that others gave to organisations, in both directions; current ones only."""

from dataclasses import dataclass
from typing import Literal, get_args

from warehouse.json_encoding import encode
from warehouse.read.mart import Build, Mart
from warehouse.read.rows import RowPage, equal, fetch_page, fetch_rows, one_of, storable

IdType = Literal["lei", "ticker", "registry", "aggregator", "isin", "figi"]
ID_TYPES: tuple[str, ...] = get_args(IdType)
# The others are the paid crosswalk.
FREE_ID_TYPES = ("lei", "ticker")
MAX_MATCHES = 20


@dataclass(frozen=True)
class Crosswalk:
    """Every identifier of one organisation; the kinds that are not shown are named."""

    service_id: str
    legal_name: str | None
    crosswalk_loaded: bool
    identifiers: RowPage
    withheld_id_types: list[str]


@dataclass(frozen=True)
class Matches:
    """Organisations that bear an identifier, 20 at most."""

    rows: RowPage
    ambiguous: bool


def identifiers(mart: Mart, service_id: str, paid: bool) -> Crosswalk | None:
    """Give the identifiers of an organisation, None if nobody has that id.

    Those of ids that point to it, or of the one it points to, are its own as well.
    """
    build = mart.build()
    owner = organisation_id(build, service_id)
    own = equal(organisation=owner)
    held = [str(each) for (each,) in _kinds(build, owner)]
    name = _named(build, service_id) or _named(build, owner)
    if not held and name is None:
        return None
    shown = [each for each in held if paid or each in FREE_ID_TYPES]
    where = [*own, one_of("id_type", shown)] if shown else [*own, *equal(id_type="")]
    return Crosswalk(
        service_id,
        None if name is None else name[0] or None,
        bool(build.rows("SELECT 1 FROM identifiers LIMIT 1")),
        fetch_page(build, "identifiers", where, None),
        [each for each in held if each not in shown],
    )


def lookup(mart: Mart, id_type: IdType, id_value: str) -> Matches:
    """Find the organisations that bear an identifier, in any case of its letters."""
    build = mart.build()
    where = equal(id_type=id_type, id_match=_upper(id_value))
    held = fetch_rows(build, "organisation, issuer", "identifiers", where)
    borne: dict[str, str] = {str(each): str(issuer) for each, issuer in reversed(held)}
    ids = sorted(borne)
    rows = []
    for service_id in ids[:MAX_MATCHES]:
        name, jurisdiction = _named(build, service_id) or ("", "")
        shown = {"legal_name": name or None, "jurisdiction": jurisdiction or None}
        issuer = borne[service_id] or None
        rows.append(encode({"service_id": service_id, **shown, "issuer": issuer}))
    truncated = len(ids) > MAX_MATCHES
    return Matches(RowPage(rows, truncated, build.data_version, build.notice), len(ids) > 1)


def ids_with_identifier(build: Build, id_type: str, id_value: str) -> list[str]:
    """Give the ids of those that bear an identifier."""
    where = equal(id_type=id_type, id_match=_upper(id_value))
    held = fetch_rows(build, "organisation", "identifiers", where)
    return list(dict.fromkeys(str(each) for (each,) in held))


def _kinds(build: Build, owner: str) -> list[tuple[str]]:
    asked = "SELECT DISTINCT id_type FROM identifiers WHERE organisation = ? ORDER BY id_type"
    return build.rows(asked, owner)


def _named(build: Build, service_id: str) -> tuple[str, str] | None:
    asked = "SELECT legal_name, jurisdiction FROM entities WHERE service_id = ?"
    held = build.rows(asked, service_id)
    return (str(held[0][0]), str(held[0][1])) if held else None


def _upper(text: str) -> str:
    """Raise the letters a to z, and no others, as the build does."""
    return storable(text).encode().upper().decode()


def same_as_id(build: Build, service_id: str) -> str | None:
    """Give the id that another points to."""
    held = build.rows("SELECT same_as FROM same_as WHERE service_id = ?", storable(service_id))
    return str(held[0][0]) if held else None


def organisation_id(build: Build, service_id: str) -> str:
    """Give the id under which everything of an organisation is found."""
    return same_as_id(build, service_id) or service_id


def is_known_id(build: Build, service_id: str) -> bool:
    """Say whether a register describes who has an id, or it points to another."""
    asked = (
        "SELECT 1 FROM entities WHERE service_id = ? "
        "UNION ALL SELECT 1 FROM same_as WHERE service_id = ? "
        "UNION ALL SELECT 1 FROM same_as WHERE same_as = ? LIMIT 1"
    )
    return bool(build.rows(asked, *[storable(service_id)] * 3))
