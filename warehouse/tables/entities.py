"""Organisations and their identifiers."""

from typing import Literal

from warehouse.tables.sighting import Sighting, column

EntityType = Literal["company", "state_body", "other"]
IdType = Literal["lei", "ticker", "registry", "aggregator", "isin", "figi", "cik"]


class Entity(Sighting):
    """One organisation, as one register described it."""

    service_id: str = column("Organisation identifier.", "DC7Q2M4XK9")
    legal_name: str | None = column("Legal name; null if withdrawn.", "Ubuntu Fictional Mining Ltd")
    other_names: str | None = column("Other names, a JSON array.", '["UFM"]')
    jurisdiction: str | None = column("Jurisdiction of incorporation (ISO 3166-1 or -2).", "ZA")
    country: str | None = column("Country of the legal address, alpha-2.", "ZA")
    entity_type: EntityType | None = column("Kind of organisation.", "company")
    status: str | None = column("Status as the register gives it.", "ACTIVE")
    lei: str | None = column("Legal Entity Identifier.", "2138002QX8KZTPLXS721")
    lei_status: str | None = column("Registration status of the LEI.", "ISSUED")
    same_as: str | None = column(
        "service_id of the same organisation, if two ids turned out to be one.", None
    )


class EntityIdentifier(Sighting):
    """One identifier of one organisation, as one file mapped it."""

    service_id: str = column("Organisation identifier.", "DC7Q2M4XK9")
    id_type: IdType = column("Kind of identifier.", "isin")
    id_value: str = column("The identifier; EXCHANGE:TICKER for a ticker.", "ZAE000000001")
    issuer: str | None = column("Who issued it: a register's code, a market's MIC.", "RA000604")
    status: str | None = column("Status as the source gives it.", "active")
