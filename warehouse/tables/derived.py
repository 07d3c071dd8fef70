"""What we work out from the record: no publication states it, so it has no date of its own."""

from typing import Literal

from sqlmodel import SQLModel

from warehouse.tables.column import column

Evidence = Literal["lei", "registry", "isin", "declared"]
MatchMethod = Literal["registry_id", "lei", "exact_name"]


class SameAs(SQLModel):
    """An id of an organisation that points to another id of the same organisation."""

    service_id: str = column("The id that points.", "DC2B8N5TRW")
    same_as: str = column("The id of the same organisation that is pointed to.", "DC7Q2M4XK9")
    evidence: Evidence = column(
        "What both bear; declared where a register itself calls one the other's duplicate.", "lei"
    )


class PartyMatch(SQLModel):
    """Who a party of tenders is, by what it states; or why that is not known.

    A row for each way in which a source writes a party. ``as_of`` does not reach it: a party
    that was known on a day is shown with what the data_version knows of who it is. Only
    another data_version can tell otherwise.
    """

    source: str = column("Key of the source that names the party.", "za-etenders")
    country: str = column("ISO 3166-1 alpha-2 code of the portal's country.", "ZA")
    party_key: str = column("The party's key in its source.", "ZA-CIP:2001/123456/07")
    name: str = column("Name as published.", "Mzansi Fictional Roads (Pty) Ltd")
    identifier_scheme: str | None = column("Scheme of the identifier.", "ZA-CIP")
    identifier_id: str | None = column("Identifier in that scheme.", "2001/123456/07")
    service_id: str | None = column("Organisation identifier; null if not resolved.", "DC7Q2M4XK9")
    match_method: MatchMethod | None = column("By what it was resolved.", "registry_id")
    reason: str | None = column("Why it was not resolved, in words; else null.", None)
