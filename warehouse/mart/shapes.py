"""The served form of each row: its members in order, the unknown ones null."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

Row = Mapping[str, Any]

_PROVENANCE = (
    "source_ref",
    "license_class",
    "observed_at",
    "method",
    "extraction_confidence",
    "provenance_id",
)
_FACT = (
    "fact_id",
    "service_id",
    "line_item",
    "statement",
    "value_reported",
    "currency_reported",
    "unit",
    "period_type",
    "period_start",
    "period_end",
    "fiscal_label",
    "basis",
    "accounting_standard",
    "vintage",
    "available_at",
)
_OBSERVED = (
    "period_start",
    "period_end",
    "value",
    "unit",
    "base_period",
    "obs_status",
    "vintage",
    "available_at",
)
_SERIES = ("country", "country_iso3", "series", "series_type", "frequency", *_OBSERVED)
_ENTITY = (
    "service_id",
    "legal_name",
    "other_names",
    "jurisdiction",
    "country",
    "entity_type",
    "status",
    "lei",
    "lei_status",
    "listings",
    "datasets",
)
_IDENTIFIER = ("service_id", "id_type", "id_value", "issuer", "status", "vintage", "available_at")
_RELEASE_PARTS = ("buyer", "tender", "awards", "contracts")


def fact(row: Row) -> dict[str, Any]:
    """Give a reported figure."""
    return _members({**row, "fact_id": row["row_id"]}, _FACT)


def series(row: Row) -> dict[str, Any]:
    """Give an observation of a series."""
    return _members(row, _SERIES)


def annual(row: Row) -> dict[str, Any]:
    """Give a value of an annual indicator, which belongs to no family of series."""
    return {
        **{name: row[name] for name in ("country", "country_iso3", "indicator")},
        "series_type": None,
        "frequency": "annual",
        **_members(row, _OBSERVED),
    }


def entity(row: Row) -> dict[str, Any]:
    """Give an organisation with its listings and the datasets that speak of it."""
    names = row["other_names"]
    return _members({**row, "other_names": names and msgspec.json.decode(names)}, _ENTITY)


def identifier(row: Row) -> dict[str, Any]:
    """Give one identifier of an organisation."""
    return _members(row, _IDENTIFIER)


def release(row: Row) -> dict[str, Any]:
    """Give a release with its OCDS parts as they were cleaned, byte for byte."""
    text = row["release"]
    parts = {} if text is None else msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    return {
        "ocid": row["ocid"],
        "release_id": row["release_id"],
        "date": row["released_on"],
        "tag": None if row["tag"] is None else row["tag"].split(","),
        "country": row["country"],
        **{name: parts.get(name) for name in _RELEASE_PARTS},
        **_members(row, ("category", "parties_withheld", "vintage", "available_at", "source_url")),
    }


def party(row: Row) -> dict[str, Any]:
    """Give a party in one role in one release."""
    return {
        **{name: row[name] for name in ("ocid", "release_id", "country", "role", "name")},
        "identifier": _coded(row["identifier_scheme"], row["identifier_id"]),
        **_members(row, ("org_evidence", "released_on", "vintage", "available_at")),
    }


def _coded(scheme: str | None, value: str | None) -> dict[str, str | None] | None:
    return None if value is None else {"scheme": scheme, "id": value}


def _members(row: Row, names: Sequence[str]) -> dict[str, Any]:
    return {name: row[name] for name in (*names, *_PROVENANCE)}
