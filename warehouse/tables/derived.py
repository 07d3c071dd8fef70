"""Rows computed from the record for a build: matches, metrics and signals.

No publication states them, so they have no sighting of their own.
"""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

from sqlmodel import SQLModel

from warehouse.methodology.metrics import AbsentReason
from warehouse.tables.column import column, same_column
from warehouse.tables.sighting import LicenseClass, Method

# How parties are matched to organisations, and ids joined, from the strongest evidence on.
MatchMethod = Literal["registry_id", "lei", "exact_name"]
VetoReason = Literal["isin", "names"]
JoinMethod = Literal["declared", "lei", "isin", "figi", "registry_id", "listing", "exact_name"]


class SameAs(SQLModel):
    """An alias: an id that was minted for an organisation which has another, canonical one."""

    service_id: str = column("The alias.", "DC2B8N5TRW")
    same_as: str = column("The canonical id of the organisation.", "DC7Q2M4XK9")
    match_method: JoinMethod = column(
        "The evidence that joins the alias to the organisation; declared if a register itself "
        "calls one the duplicate of the other.",
        "lei",
    )


class VetoedJoin(SQLModel):
    """Two organisations that share an identifier of a security and are told apart all the same."""

    service_id: str = column("One of them.", "DC2B8N5TRW", identity=1)
    other_id: str = column("The other.", "DC7Q2M4XK9", identity=2)
    match_method: JoinMethod = column("What would have joined them.", "figi", identity=3)
    reason: VetoReason = column(
        "What tells them apart: their ISINs, or names without a word in common or with different "
        "numerals.",
        "names",
    )


class PartyMatch(SQLModel):
    """The organisation that a party of tenders was resolved to, or why it was not.

    There is a row for each spelling of a party in a source. Matches do not depend on ``as_of``: a
    party that was known on a day is shown with the organisation that the data_version resolves
    it to. Only another data_version can change that.
    """

    source: str = column("Key of the source that names the party.", "za-etenders", identity=1)
    country: str = column("ISO 3166-1 alpha-2 code of the portal's country.", "ZA", identity=2)
    party_key: str = column("The party's key in its source.", "ZA-CIP:2001/123456/07", identity=3)
    name: str = column("Name as published.", "Mzansi Fictional Roads (Pty) Ltd", identity=4)
    identifier_scheme: str | None = column("Scheme of the identifier.", "ZA-CIP", identity=5)
    identifier_id: str | None = column("Identifier in that scheme.", "2001/123456/07", identity=6)
    service_id: str | None = column("Organisation identifier; null if not resolved.", "DC7Q2M4XK9")
    match_method: MatchMethod | None = column("How it was resolved.", "registry_id")
    reason: str | None = column("Why it was not resolved; null if it was.", None)


class Metric(SQLModel):
    """One value of one metric for one full year of one issuer, from today's figures.

    In metrics-ttm it is of twelve months, from the figures of the days for which it answers.

    It is the answer for every ``as_of`` from ``answers_from`` until the day before
    ``answers_until``. Neither is served: they would reveal the future.
    """

    service_id: str = column("Organisation identifier.", "DC7Q2M4XK9", identity=1)
    metric: str = column("Slug of the metric in its set.", "net_margin", identity=2)
    value: str = column(
        "Decimal number as served: ten significant digits, rounded half to even. It is text, "
        "because a ratio of two figures may not fit DECIMAL(38,18); cast to a double it sorts "
        "exactly.",
        "0.1234567891",
    )
    unit: str = column("ratio, or days.", "ratio")
    currency: str = column("ISO 4217 code of all inputs.", "ZAR", identity=4, appears="table")
    basis: str = column(
        "Basis of preparation that every input shares.",
        "consolidated/ifrs",
        identity=3,
        appears="table",
    )
    period_type: str = column("FY for a full year; TTM for twelve months that are derived.", "FY")
    period_start: date = column("First day of the year.", "2018-01-01", identity=5)
    period_end: date = column("Last day of the year.", "2018-12-31", identity=6)
    published_at: date = column(
        "Day on which any figure of this year was first published.", "2019-03-29"
    )
    available_at: date = column(
        "Day from which a publication had stated every input with its present value: the metric "
        "is final since then.",
        "2019-03-29",
    )
    answers_from: date = column(
        "First as_of day for which this row is the answer.", "2019-03-29", appears="table"
    )
    answers_until: date | None = column(
        "First as_of day for which it no longer is, because a later year was published; null if "
        "none. Equal to answers_from if it never was the answer.",
        "2020-03-27",
        appears="table",
    )
    methodology_ref: str = column("Set of the metric, and its page there.", "metrics-v1/net_margin")
    inputs: str = column(
        "The figures it was computed from, as JSON: fact_id, line_item, value, period_end (in "
        "metrics-ttm also sign and period_start), "
        "vintage and available_at of the fact; document_id, form and document_url of the filing "
        "that states it together with the others, and as source_ref the location in it.",
        '[{"fact_id":"…","line_item":"profit","value":12}]',
    )
    license_class: LicenseClass = column(
        "The most restrictive licence class among its inputs.", "public-domain", part="provenance"
    )
    source_ref: str = column(
        "Document and location of the input published last.",
        "https://example.org/facts.json#/3",
        part="provenance",
    )
    observed_at: datetime = column(
        "When we read the last of its inputs, in UTC.", "2026-11-14T02:10:00Z", part="provenance"
    )
    method: Method = column(
        "How the input published last was extracted from its document.", "xbrl", part="provenance"
    )
    extraction_confidence: Decimal | None = column(
        "Score of that extraction; null if it is not scored.", None, part="provenance"
    )
    provenance_id: str = column(
        "Identifies the location of that input.",
        "9f86d081884c7d659a2feaa0c55ad015",
        part="provenance",
    )


class MetricAbsent(SQLModel):
    """One metric that has no value for a full year of an issuer, and why.

    Like a value, it holds for an interval of ``as_of`` days; for a past ``as_of`` the reason may
    be that the year was revised or completed later. Issuers that have published figures, but no
    full year yet, have rows here too: for a metric and a day, every issuer covered
    has exactly one row, here or among the values.
    """

    service_id: str = column("Organisation identifier.", "DC7Q2M4XK9", identity=1)
    metric: str = column("Slug of the metric.", "net_margin", identity=2)
    period_end: date = column(
        "Last day of the year, or of the period published first.", "2018-12-31", identity=3
    )
    reason: AbsentReason = column("Why there is no value.", "input_not_reported", identity=4)
    holds_from: date = column("First as_of day for which this holds.", "2019-03-29", identity=5)
    holds_until: date | None = column(
        "First as_of day for which it no longer holds; null if none, equal to holds_from if it "
        "never held.",
        "2020-03-27",
    )


Derivation = Literal["difference", "trailing_year"]
ComparableBy = Literal["one_publication", "unrestated"]
DerivedAbsence = Literal[
    "input_not_reported", "inputs_not_comparable", "restated_between", "nothing_repeated"
]
# Why a figure is not derived, in words.
DERIVED_ABSENCES: Mapping[str, str] = {
    "input_not_reported": "an input was never published, or has been withdrawn",
    "inputs_not_comparable": "the inputs are stated by different elements or in the purchasing "
    "power of different days, or one contradicts its own publication",
    "restated_between": "a figure of the line was restated after one input was published and "
    "before the last was, and no publication states all of them",
    "nothing_repeated": "who published the last input repeated no earlier figure of the line "
    "unchanged, so that nothing shows that the inputs are on one basis",
}


class DerivedFigure(SQLModel):
    """One figure that no publication states: an exact sum of figures that publications state.

    A single quarter, a half-year or trailing twelve months, in one vintage: another one follows
    when its inputs become others. A row without a value says from which day on there is none.
    """

    row_id: str = column("Identifies the row.", "9f86d081884c7d659a2feaa0c55ad015", appears="table")
    service_id: str = column("Organisation identifier.", "DC7Q2M4XK9", identity=1)
    line_item: str = column("Financial line item.", "cfo", identity=2)
    statement: str = column("Statement the line belongs to.", "cash_flow")
    value: Decimal | None = column(
        "The sum of the inputs, exact; null if there is none.", Decimal("1234567890123456.78")
    )
    unit: str = column("Currency of all inputs, as reported.", "ZAR", identity=3)
    period_type: Literal["Q2", "Q3", "Q4", "H2", "TTM", "OTHER"] = column(
        "Kind of period; TTM for twelve months that end with a quarter or half-year, OTHER if the "
        "financial year is not known.",
        "Q4",
    )
    period_start: date = column("First day of the period.", "2018-10-01", identity=5)
    period_end: date = column("Last day of the period.", "2018-12-31", identity=6)
    fiscal_label: str | None = column("Part and year, from the inputs.", "Q4 FY2018")
    basis: str = column("Basis of preparation of all inputs.", "consolidated/ifrs", identity=4)
    derivation: Derivation = column(
        "difference: a year or year to date, less a shorter one that begins on the same day. "
        "trailing_year: the year to date, less the same months of the year before, with that whole "
        "year.",
        "difference",
    )
    comparable_by: ComparableBy | None = column(
        "What shows that the inputs are on one basis. one_publication: one states all of them. "
        "unrestated: no figure of the line was restated between the days of the inputs, and who "
        "published the last repeated an older one unchanged. Null without a value.",
        "unrestated",
    )
    reason: DerivedAbsence | None = column("Why there is no value; null if there is one.", None)
    vintage: int = column(
        "1 for the first value, then rising; a row without a value has the number of the last one.",
        1,
        appears="table",
    )
    available_at: date = column(
        "Day on which the last input was public: from then on the row is the answer.",
        "2019-03-29",
        identity=7,
        part="time",
    )
    superseded_at: date | None = column(
        "Day from which it no longer is: an input became another, or the issuer stated the figure "
        "itself. Null if it still is.",
        None,
        appears="table",
    )
    latest: bool = column("True for a value that is the answer now.", True, appears="table")
    withdrawn: bool = column("True in a row without a value.", False, appears="file", part="time")
    inputs: str | None = column(
        "The figures it is the sum of, as JSON: sign, fact_id, line_item, value, period_start, "
        "period_end, vintage and available_at of the fact; document_id, form and document_url of "
        "the filing that states it, and as source_ref the location in it. Null without a value.",
        '[{"sign":1,"fact_id":"…","line_item":"cfo","value":12}]',
    )
    license_class: LicenseClass = same_column(Metric, "license_class")
    source_ref: str = same_column(Metric, "source_ref")
    observed_at: datetime = same_column(Metric, "observed_at")
    method: Method = same_column(Metric, "method")
    extraction_confidence: Decimal | None = same_column(Metric, "extraction_confidence")
    provenance_id: str = same_column(Metric, "provenance_id")


class FirstListing(SQLModel):
    """The exchange on which an issuer is listed first."""

    service_id: str = column("Organisation identifier.", "DC7Q2M4XK9", identity=1)
    mic: str = column("ISO 10383 code of the exchange.", "XJSE")


class ExchangeSession(SQLModel):
    """One session of an exchange, by its calendar."""

    mic: str = column("ISO 10383 code of the exchange.", "XJSE", identity=1)
    session_on: date = column("Its day, at the exchange.", "2019-04-01", identity=2)
    opens_at: datetime = column("When it opens, in UTC.", "2019-04-01T07:00:00Z")


class SharedFact(SQLModel):
    """A fact of an entity: a figure, an observation, or an award, in the form they share."""

    fact_id: str = column("Identifies the fact.", "9f86d081884c7d659a2feaa0c55ad015")
    entity_id: str | None = column(
        "Issuer id, or country code; of a supplier that no register knows, its party_id.", "ZAF"
    )
    entity_name: str | None = column("Its name.", "South Africa")
    country_iso3: str | None = column("ISO 3166-1 alpha-3 code.", "ZAF")
    dataset: str = column("Dataset the fact belongs to.", "AF-MACRO")
    measure: str = column("What is measured.", "FX.EUR.ZAR")
    value: Decimal | None = column("The value, digit for digit.", Decimal("20.1234"))
    unit: str | None = column("Its unit.", "ZAR")
    base_period: str | None = column("Base of an index; null if there is none.", "2010=100")
    period_end: date | None = column("Last day of the period.", "2024-06-28")
    period_type: str = column("Cadence, or frequency of a series.", "daily")
    ocid: str | None = column(
        "Open Contracting process id of a tender or award; null for other datasets.",
        None,
    )
    buyer: str | None = column("Who buys, by name; null for other datasets.", None)
    buyer_id: str | None = column("Its service_id, where it is resolved.", None)
    title: str | None = column("Title of the tender, where the release states it.", None)
    category: str | None = column("Category of the tender, as published.", None)


class Signal(SQLModel):
    """One measure of one panel, for one country, month and dimension, in one vintage.

    ``superseded_at`` is not served: it would reveal the future.
    """

    signal_key: str = column("Key of the panel.", "single-bid-rate", identity=1)
    country: str = column("ISO 3166-1 alpha-2 code.", "ZA", identity=2)
    month: date = column("First day of the month.", "2026-03-01", identity=3)
    closed_at: date = column("Day on which the month was closed.", "2026-04-05")
    dimension: str = column(
        "What the measure is broken down by; all if it is not.", "category", identity=4
    )
    dimension_value: str = column(
        "Value of the dimension; all if there is none.", "works", identity=5
    )
    service_id: str | None = column(
        "Organisation that the dimension names, if it is resolved.", None, identity=8
    )
    measure: str = column("What is measured.", "single_bid_rate", identity=6)
    value: Decimal | None = column(
        "Ten significant digits, at most 18 decimal places; null if nothing was observed.",
        Decimal("0.25"),
    )
    unit: str = column("share, ratio, days, tenderers, index …", "share")
    currency: str | None = column(
        "ISO 4217 code of amounts; null if there are none.", "ZAR", identity=7
    )
    n_eligible: int = column("Processes in scope.", 120)
    n_observed: int = column("Processes that state what the measure needs.", 30)
    coverage: Decimal | None = column(
        "n_observed / n_eligible; null if nothing is in scope.", Decimal("0.25")
    )
    n_withheld: int = column(
        "Parties in scope that are withheld: they are counted, but not named.", 2
    )
    vintage: int = column("1 for the month as first closed.", 1)
    available_at: date = column("Day from which this vintage was known.", "2026-04-05")
    superseded_at: date | None = column(
        "Day from which the next vintage was known; null for the last.", None, appears="file"
    )
    methodology_ref: str = column("Methodology page of the panel.", "signals-v1/single-bid-rate")
    license_class: LicenseClass = column(
        "The most restrictive licence class among its releases.", "cc-by", part="provenance"
    )
    source_ref: str = column(
        "Keys of the portals whose releases it is computed from, the dataset of the export "
        "manifest that contains the releases, and the closing by which they were known.",
        "za-etenders (AF-TENDER releases known on 2026-04-05)",
        part="provenance",
    )
    observed_at: datetime = column(
        "When we read the last of the country's releases known at that closing, in UTC.",
        "2026-11-14T02:10:00Z",
        part="provenance",
    )
    method: Method = column(
        "How the releases were read; file if they differ.", "api", part="provenance"
    )
    extraction_confidence: Decimal | None = column(
        "The lowest score among the releases; null if none is scored.", None, part="provenance"
    )
    provenance_id: str = column(
        "Identifies the panel, country, month, vintage and releases.",
        "9f86d081884c7d659a2feaa0c55ad015",
        part="provenance",
    )


RevisionKind = Literal["edited", "overwritten", "removed", "restored"]


class SilentRevision(SQLModel):
    """One value or member that a publisher changed without saying so, as we saw it."""

    dataset: str = column("Dataset: AF-FUND, AF-TENDER or AF-MACRO.", "AF-MACRO")
    source: str = column("Key of the source.", "bcb-sgs")
    country: str | None = column("ISO 3166-1 alpha-2 code; null for a company.", "BR")
    service_id: str | None = column("Organisation identifier of a company.", None)
    line_item: str | None = column("Line item of a company's figure.", None)
    series: str | None = column("Key of the series.", "BR.IBC")
    indicator: str | None = column("Code of an annual indicator.", None)
    ocid: str | None = column("Open Contracting process id of a release.", None)
    release_id: str | None = column("Id of the release within its process.", None)
    unit: str | None = column("Unit of the value.", "index")
    base_period: str | None = column("Base of an index; null if there is none.", "2022=100")
    basis: str | None = column("Basis of preparation of a company's figure.", None)
    period_start: date | None = column("First day of the period.", "2026-08-01")
    period_end: date | None = column("Last day of the period.", "2026-08-31")
    member: str = column(
        "What changed: value, obs_status, or the path of a member of the release.", "value"
    )
    kind: RevisionKind = column(
        "edited: the same publication shows something else. overwritten: the publisher shows one "
        "state only, and it is another one. removed: it is no longer shown. restored: it is shown "
        "again.",
        "overwritten",
    )
    before: str | None = column("What was there, digit for digit; null if nothing was.", "148.21")
    after: str | None = column("What is there instead; null if nothing is.", "147.95")
    before_since: date = column(
        "Day since which the old content was public; the day we first read it, where no day of "
        "publication is known.",
        "2026-10-16",
    )
    before_last_seen_at: datetime = column(
        "When we last read a document that showed the old content, in UTC.", "2026-11-13T02:10:00Z"
    )
    after_first_seen_at: datetime = column(
        "When we first read the new content, in UTC. The change lies between the two.",
        "2026-11-14T02:10:00Z",
    )
    publication_before: str = column(
        "The publisher's identifier of the publication with the old content: an id, a version of "
        "a document, or 'as shown' where it gives none.",
        "25224/2022-12-31/0004",
    )
    publication: str = column("That of the new content.", "25224/2022-12-31/0005")
    license_class: LicenseClass = column(
        "Licence class of the source.", "open-share-alike", part="provenance"
    )
    source_ref_before: str = column(
        "Document and location of the old content, which may show it no longer.",
        "https://example.org/series.csv#/28",
        part="provenance",
    )
    source_ref: str = column(
        "Document and location of the new content.",
        "https://example.org/series.csv#/28",
        part="provenance",
    )
    revision_id: str = column(
        "Identifies the revision.", "9f86d081884c7d659a2feaa0c55ad015", identity=1
    )


class LeftOut(SQLModel):
    """Stored rows that a build leaves out, by table, rule and source."""

    table_name: str = column("Table of the record.", "tender_releases", identity=1)
    rule: str = column(
        "The rule that they fail, in words.", "currencies are three-letter codes", identity=2
    )
    source: str = column("Key of their source.", "ke-ppip", identity=3)
    rows_left_out: int = column("Rows left out.", 3)
    rows_stored: int = column("Rows of the table in the record, of all sources.", 48211)
    example: str = column(
        "Document and location of one of them, with its row_id.",
        "https://example.org/releases.json#/releases/7 (row 9f86d081884c7d659a2feaa0c55ad015)",
    )
