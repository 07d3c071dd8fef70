"""Organisations and their identifiers."""

from datetime import date
from typing import Literal

from warehouse.tables.column import column, same_column
from warehouse.tables.sighting import Sighting

EntityType = Literal["company", "state_body", "other"]
IdType = Literal["lei", "ticker", "registry", "aggregator", "isin", "figi", "cik"]
# What a FIGI names: the security in one market, in one country, or everywhere.
FigiLevel = Literal["listing", "composite", "share_class"]
# The columns of an entity that are lists of names; all but the first say of which kind some are.
NAME_LISTS = ("other_names", "former_names", "trading_names")


class Entity(Sighting):
    """One organisation, as one register described it."""

    service_id: str = column("Organisation identifier.", "DC7Q2M4XK9", identity=1)
    legal_name: str | None = column(
        "Legal name; null if withdrawn.", "Ubuntu Fictional Mining Ltd", content=True
    )
    other_names: str | None = column("Other names, a JSON array.", '["UFM"]', content=True)
    jurisdiction: str | None = column(
        "Jurisdiction of incorporation (ISO 3166-1 or -2).", "ZA", content=True
    )
    country: str | None = column("Country of the legal address, alpha-2.", "ZA", content=True)
    entity_type: EntityType | None = column("Kind of organisation.", "company", content=True)
    status: str | None = column("Status as the register gives it.", "ACTIVE", content=True)
    lei: str | None = column("Legal Entity Identifier.", "2138002QX8KZTPLXS721", content=True)
    lei_status: str | None = column("Registration status of the LEI.", "ISSUED", content=True)
    same_as: str | None = column(
        "service_id of the organisation that a register itself calls this one a duplicate of; "
        "always null in a served row, which has the canonical id.",
        None,
        content=True,
    )
    former_names: str | None = column(
        "Those of the other names that are former legal names, a JSON array.",
        '["Fictional Shafts Ltd"]',
        None,
        content=True,
    )
    trading_names: str | None = column(
        "Those of the other names that are trading names, a JSON array.",
        '["UFM"]',
        None,
        content=True,
    )
    headquarters_country: str | None = column(
        "Country of the headquarters, alpha-2.", "ZA", None, content=True
    )
    legal_form: str | None = column("Legal form, code of ISO 20275.", "XH8C", None, content=True)
    former_names_until: str | None = column(
        "For each of the former names, in their order, the last day on which the register has it; "
        "null where it states none. A JSON array.",
        '["2018-12-31"]',
        None,
        appears="table",
        since="1.0.0",
    )
    withheld_names: str | None = column(
        "Names of people that the register states with it, encrypted: none may be served.",
        None,
        None,
        appears="table",
    )


class EntityIdentifier(Sighting):
    """One identifier of one organisation, as one file mapped it."""

    service_id: str = column("Organisation identifier.", "DC7Q2M4XK9", identity=1, appears="table")
    id_type: IdType = column("Kind of identifier.", "isin", identity=2)
    id_value: str = column(
        "The identifier; EXCHANGE:TICKER for a ticker.", "ZAE000000001", identity=3
    )
    issuer: str | None = column(
        "Who issued it: a register's code, a market's MIC.", "RA000604", identity=4
    )
    status: str | None = column("Status as the source gives it.", "active", content=True)
    figi_level: FigiLevel | None = column(
        "What a FIGI names: the security in one market (listing), in one country (composite) or "
        "everywhere (share_class).",
        "share_class",
        None,
        content=True,
    )
    currency: str | None = column(
        "Currency in which a listing is traded, ISO 4217.", "ZAR", None, content=True
    )
    valid_from: date | None = column(
        "First day of a listing, where the source states it.",
        "2008-10-06",
        None,
        content=True,
    )
    valid_to: date | None = column(
        "Last day of a listing, where the source states it.",
        "2024-06-28",
        None,
        content=True,
    )


ListingState = Literal["listed", "delisted", "not_shown", "announced"]


class ListedIssuer(Sighting):
    """One listing of an issuer from a day on, as far as lists that were public by then say so."""

    exchange: str = column("MIC of the exchange, or its name in the list.", "XJSE")
    ticker: str = column("Ticker there.", "UFM")
    service_id: str = column("Organisation identifier.", "DC7Q2M4XK9")
    legal_name: str | None = column(
        "Its name as it was known; null if it was not.", "Ubuntu Fictional Mining Ltd"
    )
    former_names: str | None = column(
        "Names that it had before, as JSON: each `until` the last day on which a register has it, "
        "or the day on which a register first shows another. Null if none is known.",
        '[{"name":"Fictional Shafts Ltd","until":"2018-12-31"}]',
    )
    state: ListingState = column(
        "listed; delisted: by its last day or its status; not_shown: a list that has all listings "
        "no longer shows it; announced: its first day is still to come.",
        "listed",
    )
    listed_from: date | None = same_column(EntityIdentifier, "valid_from")
    listed_to: date | None = same_column(EntityIdentifier, "valid_to")
    first_shown: date = column("Day of the first list that shows it.", "2019-01-15")
    status: str | None = same_column(EntityIdentifier, "status")
    currency: str | None = same_column(EntityIdentifier, "currency")
