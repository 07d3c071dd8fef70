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

    service_id: str = column("Entity.service_id", identity=1)
    legal_name: str | None = column("Entity.legal_name", content=True)
    other_names: str | None = column("Entity.other_names", content=True)
    jurisdiction: str | None = column("Entity.jurisdiction", content=True)
    country: str | None = column("Entity.country", content=True)
    entity_type: EntityType | None = column("Entity.entity_type", content=True)
    status: str | None = column("Entity.status", content=True)
    lei: str | None = column("Entity.lei", content=True)
    lei_status: str | None = column("Entity.lei_status", content=True)
    same_as: str | None = column("Entity.same_as", content=True)
    former_names: str | None = column("Entity.former_names", None, content=True)
    trading_names: str | None = column("Entity.trading_names", None, content=True)
    headquarters_country: str | None = column("Entity.headquarters_country", None, content=True)
    legal_form: str | None = column("Entity.legal_form", None, content=True)
    former_names_until: str | None = column(
        "Entity.former_names_until", None, appears="table", since="1.0.0"
    )
    withheld_names: str | None = column("Entity.withheld_names", None, appears="table")


class EntityIdentifier(Sighting):
    """One identifier of one organisation, as one file mapped it."""

    service_id: str = column("EntityIdentifier.service_id", identity=1, appears="table")
    id_type: IdType = column("EntityIdentifier.id_type", identity=2)
    id_value: str = column("EntityIdentifier.id_value", identity=3)
    issuer: str | None = column("EntityIdentifier.issuer", identity=4)
    status: str | None = column("EntityIdentifier.status", content=True)
    figi_level: FigiLevel | None = column("EntityIdentifier.figi_level", None, content=True)
    currency: str | None = column("EntityIdentifier.currency", None, content=True)
    valid_from: date | None = column("EntityIdentifier.valid_from", None, content=True)
    valid_to: date | None = column("EntityIdentifier.valid_to", None, content=True)


ListingState = Literal["listed", "delisted", "not_shown", "announced"]


class ListedIssuer(Sighting):
    """One listing of an issuer from a day on, as far as lists that were public by then say so."""

    exchange: str = column("ListedIssuer.exchange")
    ticker: str = column("ListedIssuer.ticker")
    service_id: str = column("ListedIssuer.service_id")
    legal_name: str | None = column("ListedIssuer.legal_name")
    former_names: str | None = column("ListedIssuer.former_names")
    state: ListingState = column("ListedIssuer.state")
    listed_from: date | None = same_column(EntityIdentifier, "valid_from")
    listed_to: date | None = same_column(EntityIdentifier, "valid_to")
    first_shown: date = column("ListedIssuer.first_shown")
    status: str | None = same_column(EntityIdentifier, "status")
    currency: str | None = same_column(EntityIdentifier, "currency")
