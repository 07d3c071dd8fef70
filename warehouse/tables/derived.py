"""What we work out from the record: no publication states it, so it has no date of its own."""

from datetime import date, datetime
from decimal import Decimal
from typing import Literal

from sqlmodel import SQLModel

from warehouse.methodology.metrics import AbsentReason
from warehouse.tables.sighting import LicenseClass, Method, column

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


class Metric(SQLModel):
    """One value of one metric for one full year of one issuer, from today's figures.

    It is the answer for every ``as_of`` from ``answers_from`` until the day before
    ``answers_until``; neither leaves the service, they would tell the future.
    """

    service_id: str = column("Organisation identifier.", "DC7Q2M4XK9")
    metric: str = column("Slug of the metric in the metrics-v1 set.", "net_margin")
    value: str = column(
        "A decimal number as it is served, of ten significant digits, half even. As text, since "
        "a ratio of two figures may have no exact place in DECIMAL(38,18); cast to a double it "
        "sorts exactly.",
        "0.1234567891",
    )
    unit: str = column("ratio, or days.", "ratio")
    currency: str = column("ISO 4217 code in which every input is reported.", "ZAR")
    basis: str = column("Basis of preparation that every input shares.", "consolidated/ifrs")
    period_type: str = column("Always a full year.", "FY")
    period_start: date = column("First day of the year.", "2018-01-01")
    period_end: date = column("Last day of the year.", "2018-12-31")
    published_at: date = column(
        "Day on which the first of its inputs for this year was first published.", "2019-03-29"
    )
    available_at: date = column(
        "Day from which every input had the value it has today: exact from then on.", "2019-03-29"
    )
    answers_from: date = column("First as_of day for which this row is the answer.", "2019-03-29")
    answers_until: date | None = column(
        "First as_of day for which it no longer is: a later year was published; null if none. "
        "Equal to answers_from where it never was the answer.",
        "2020-03-27",
    )
    methodology_ref: str = column("Names the documented formula.", "metrics-v1/net_margin")
    inputs: str = column(
        "The figures it was computed from, as JSON: fact_id, line_item, value, period_end, "
        "vintage, available_at, source_ref.",
        '[{"fact_id":"…","line_item":"profit","value":12}]',
    )
    license_class: LicenseClass = column(
        "The most restrictive licence class among its inputs.", "public-domain"
    )
    source_ref: str = column(
        "Document plus location of the input published last.", "https://example.org/facts.json#/3"
    )
    observed_at: datetime = column(
        "When we read the last of its inputs, in UTC.", "2026-11-14T02:10:00Z"
    )
    method: Method = column("How the input published last was taken from its document.", "xbrl")
    extraction_confidence: Decimal | None = column(
        "Score of the extraction of that input; null where it is not scored.", None
    )
    provenance_id: str = column(
        "Identifies the place of that input.", "9f86d081884c7d659a2feaa0c55ad015"
    )


class MetricAbsent(SQLModel):
    """One metric that a full year of an issuer has no value for, and why.

    Like a value, it holds for the ``as_of`` days in an interval; for the day of a past
    ``as_of`` the reason may be that the year was revised or completed after it. An issuer that
    has published figures, but no input of any full year yet, is told of here too: for a
    metric and a day every issuer covered has exactly one row, here or among the values.
    """

    service_id: str = column("Organisation identifier.", "DC7Q2M4XK9")
    metric: str = column("Slug of the metric.", "net_margin")
    period_end: date = column("Last day of the year, or of what was published first.", "2018-12-31")
    reason: AbsentReason = column("Why there is no value.", "input_not_reported")
    holds_from: date = column("First as_of day for which this is so.", "2019-03-29")
    holds_until: date | None = column(
        "First as_of day for which it no longer is; null if none, equal to holds_from where it "
        "never was.",
        "2020-03-27",
    )


class Signal(SQLModel):
    """One measure of one panel, for one country, month and dimension, in one vintage.

    ``superseded_at`` stays inside: it would tell the future.
    """

    signal_key: str = column("Key of the panel.", "single-bid-rate")
    country: str = column("ISO 3166-1 alpha-2 code.", "ZA")
    month: date = column("First day of the month.", "2026-03-01")
    closed_at: date = column("Day on which the month was closed.", "2026-04-05")
    dimension: str = column("What the measure is broken down by; all where it is not.", "category")
    dimension_value: str = column("Value of the dimension; all where it is not one.", "works")
    service_id: str | None = column(
        "Organisation that the dimension names, where it is resolved.", None
    )
    measure: str = column("What is measured.", "single_bid_rate")
    value: Decimal | None = column(
        "Ten significant digits, at most 18 behind the point; null where nothing was observed.",
        Decimal("0.25"),
    )
    unit: str = column("share, ratio, days, tenderers, index …", "share")
    currency: str | None = column("ISO 4217 code of amounts; null where there are none.", "ZAR")
    n_eligible: int = column("Processes in scope.", 120)
    n_observed: int = column("Those that state what the measure needs.", 30)
    coverage: Decimal | None = column(
        "n_observed / n_eligible; null where nothing is in scope.", Decimal("0.25")
    )
    n_withheld: int = column("Parties in scope that are withheld; they count, unnamed.", 2)
    vintage: int = column("1 for the month as it was first closed.", 1)
    available_at: date = column("Day from which this vintage was known.", "2026-04-05")
    superseded_at: date | None = column("Day from which another was; null for the last.", None)
    methodology_ref: str = column("Names the documented measure.", "signals-v1/single-bid-rate")
    license_class: LicenseClass = column(
        "The most restrictive licence class among the releases it is made from.", "cc-by"
    )
    source_ref: str = column(
        "The portals whose releases it is made from, by their keys; the dataset of the export "
        "manifest that holds the releases; and the closing by which they were known.",
        "za-etenders (AF-TENDER releases known on 2026-04-05)",
    )
    observed_at: datetime = column(
        "When we read the last of the country's releases known at that closing, in UTC.",
        "2026-11-14T02:10:00Z",
    )
    method: Method = column("How the releases were read; file where not all alike.", "api")
    extraction_confidence: Decimal | None = column(
        "The lowest score among the releases; null where none is scored.", None
    )
    provenance_id: str = column(
        "Identifies the panel, country and month in this vintage, and what it is made from.",
        "9f86d081884c7d659a2feaa0c55ad015",
    )
