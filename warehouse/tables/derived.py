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
from warehouse.tables.operations import QualityMetric
from warehouse.tables.sighting import LicenseClass, Method

# How parties are matched to organisations, and ids joined, from the strongest evidence on.
MatchMethod = Literal["registry_id", "lei", "exact_name"]
VetoReason = Literal["isin", "names"]
JoinMethod = Literal["declared", "lei", "isin", "figi", "registry_id", "listing", "exact_name"]


class SameAs(SQLModel):
    """An alias: an id that was minted for an organisation which has another, canonical one."""

    service_id: str = column("SameAs.service_id")
    same_as: str = column("SameAs.same_as")
    match_method: JoinMethod = column("SameAs.match_method")


class VetoedJoin(SQLModel):
    """Two organisations that share an identifier of a security and are told apart all the same."""

    service_id: str = column("VetoedJoin.service_id", identity=1)
    other_id: str = column("VetoedJoin.other_id", identity=2)
    match_method: JoinMethod = column("VetoedJoin.match_method", identity=3)
    reason: VetoReason = column("VetoedJoin.reason")


class PartyMatch(SQLModel):
    """The organisation that a party of tenders was resolved to, or why it was not.

    There is a row for each spelling of a party in a source. Matches do not depend on ``as_of``: a
    party that was known on a day is shown with the organisation that the data_version resolves
    it to. Only another data_version can change that.
    """

    source: str = column("PartyMatch.source", identity=1)
    country: str = column("PartyMatch.country", identity=2)
    party_key: str = column("PartyMatch.party_key", identity=3)
    name: str = column("PartyMatch.name", identity=4)
    identifier_scheme: str | None = column("PartyMatch.identifier_scheme", identity=5)
    identifier_id: str | None = column("PartyMatch.identifier_id", identity=6)
    service_id: str | None = column("PartyMatch.service_id")
    match_method: MatchMethod | None = column("PartyMatch.match_method")
    reason: str | None = column("PartyMatch.reason")


class Metric(SQLModel):
    """One value of one metric for one full year of one issuer, from today's figures.

    In metrics-ttm it is of twelve months, from the figures of the days for which it answers.

    It is the answer for every ``as_of`` from ``answers_from`` until the day before
    ``answers_until``. Neither is served: they would reveal the future.
    """

    service_id: str = column("Metric.service_id", identity=1)
    metric: str = column("Metric.metric", identity=2)
    value: str = column("Metric.value")
    unit: str = column("Metric.unit")
    currency: str = column("Metric.currency", identity=4, appears="table")
    basis: str = column("Metric.basis", identity=3, appears="table")
    period_type: str = column("Metric.period_type")
    period_start: date = column("Metric.period_start", identity=5)
    period_end: date = column("Metric.period_end", identity=6)
    published_at: date = column("Metric.published_at")
    available_at: date = column("Metric.available_at")
    answers_from: date = column("Metric.answers_from", appears="table")
    answers_until: date | None = column("Metric.answers_until", appears="table")
    methodology_ref: str = column("Metric.methodology_ref")
    inputs: str = column("Metric.inputs")
    license_class: LicenseClass = column("Metric.license_class", part="provenance")
    source_ref: str = column("Metric.source_ref", part="provenance")
    observed_at: datetime = column("Metric.observed_at", part="provenance")
    method: Method = column("Metric.method", part="provenance")
    extraction_confidence: Decimal | None = column(
        "Metric.extraction_confidence", part="provenance"
    )
    provenance_id: str = column("Metric.provenance_id", part="provenance")


class MetricAbsent(SQLModel):
    """One metric that has no value for a full year of an issuer, and why.

    Like a value, it holds for an interval of ``as_of`` days; for a past ``as_of`` the reason may
    be that the year was revised or completed later. Issuers that have published figures, but no
    full year yet, have rows here too: for a metric and a day, every issuer covered
    has exactly one row, here or among the values.
    """

    service_id: str = column("MetricAbsent.service_id", identity=1)
    metric: str = column("MetricAbsent.metric", identity=2)
    period_end: date = column("MetricAbsent.period_end", identity=3)
    reason: AbsentReason = column("MetricAbsent.reason", identity=4)
    holds_from: date = column("MetricAbsent.holds_from", identity=5)
    holds_until: date | None = column("MetricAbsent.holds_until")


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

    row_id: str = column("DerivedFigure.row_id", appears="table")
    service_id: str = column("DerivedFigure.service_id", identity=1)
    line_item: str = column("DerivedFigure.line_item", identity=2)
    statement: str = column("DerivedFigure.statement")
    value: Decimal | None = column("DerivedFigure.value")
    unit: str = column("DerivedFigure.unit", identity=3)
    period_type: Literal["Q2", "Q3", "Q4", "H2", "TTM", "OTHER"] = column(
        "DerivedFigure.period_type"
    )
    period_start: date = column("DerivedFigure.period_start", identity=5)
    period_end: date = column("DerivedFigure.period_end", identity=6)
    fiscal_label: str | None = column("DerivedFigure.fiscal_label")
    basis: str = column("DerivedFigure.basis", identity=4)
    derivation: Derivation = column("DerivedFigure.derivation")
    comparable_by: ComparableBy | None = column("DerivedFigure.comparable_by")
    reason: DerivedAbsence | None = column("DerivedFigure.reason")
    vintage: int = column("DerivedFigure.vintage", appears="table")
    available_at: date = column("DerivedFigure.available_at", identity=7, part="time")
    superseded_at: date | None = column("DerivedFigure.superseded_at", appears="table")
    latest: bool = column("DerivedFigure.latest", appears="table")
    withdrawn: bool = column("DerivedFigure.withdrawn", appears="file", part="time")
    inputs: str | None = column("DerivedFigure.inputs")
    license_class: LicenseClass = same_column(Metric, "license_class")
    source_ref: str = same_column(Metric, "source_ref")
    observed_at: datetime = same_column(Metric, "observed_at")
    method: Method = same_column(Metric, "method")
    extraction_confidence: Decimal | None = same_column(Metric, "extraction_confidence")
    provenance_id: str = same_column(Metric, "provenance_id")


class FirstListing(SQLModel):
    """The exchange on which an issuer is listed first."""

    service_id: str = column("FirstListing.service_id", identity=1)
    mic: str = column("FirstListing.mic")


class ExchangeSession(SQLModel):
    """One session of an exchange, by its calendar."""

    mic: str = column("ExchangeSession.mic", identity=1)
    session_on: date = column("ExchangeSession.session_on", identity=2)
    opens_at: datetime = column("ExchangeSession.opens_at")


class SharedFact(SQLModel):
    """A fact of an entity: a figure, an observation, or an award, in the form they share."""

    fact_id: str = column("SharedFact.fact_id")
    entity_id: str | None = column("SharedFact.entity_id")
    entity_name: str | None = column("SharedFact.entity_name")
    country_iso3: str | None = column("SharedFact.country_iso3")
    dataset: str = column("SharedFact.dataset")
    measure: str = column("SharedFact.measure")
    value: Decimal | None = column("SharedFact.value")
    unit: str | None = column("SharedFact.unit")
    base_period: str | None = column("SharedFact.base_period")
    period_end: date | None = column("SharedFact.period_end")
    period_type: str = column("SharedFact.period_type")
    ocid: str | None = column("SharedFact.ocid")
    buyer: str | None = column("SharedFact.buyer")
    buyer_id: str | None = column("SharedFact.buyer_id")
    title: str | None = column("SharedFact.title")
    category: str | None = column("SharedFact.category")


class Signal(SQLModel):
    """One measure of one panel, for one country, month and dimension, in one vintage.

    ``superseded_at`` is not served: it would reveal the future.
    """

    signal_key: str = column("Signal.signal_key", identity=1)
    country: str = column("Signal.country", identity=2)
    month: date = column("Signal.month", identity=3)
    closed_at: date = column("Signal.closed_at")
    dimension: str = column("Signal.dimension", identity=4)
    dimension_value: str = column("Signal.dimension_value", identity=5)
    service_id: str | None = column("Signal.service_id", identity=8)
    measure: str = column("Signal.measure", identity=6)
    value: Decimal | None = column("Signal.value")
    numerator: Decimal | None = column("Signal.numerator", None, since="1.0.0")
    denominator: Decimal | None = column("Signal.denominator", None, since="1.0.0")
    unit: str = column("Signal.unit")
    currency: str | None = column("Signal.currency", identity=7)
    n_eligible: int = column("Signal.n_eligible")
    n_observed: int = column("Signal.n_observed")
    coverage: Decimal | None = column("Signal.coverage")
    n_withheld: int = column("Signal.n_withheld")
    vintage: int = column("Signal.vintage")
    available_at: date = column("Signal.available_at")
    superseded_at: date | None = column("Signal.superseded_at", appears="file")
    methodology_ref: str = column("Signal.methodology_ref")
    license_class: LicenseClass = column("Signal.license_class", part="provenance")
    source_ref: str = column("Signal.source_ref", part="provenance")
    observed_at: datetime = column("Signal.observed_at", part="provenance")
    method: Method = column("Signal.method", part="provenance")
    extraction_confidence: Decimal | None = column(
        "Signal.extraction_confidence", part="provenance"
    )
    provenance_id: str = column("Signal.provenance_id", part="provenance")


RevisionKind = Literal["edited", "overwritten", "removed", "restored"]


class SilentRevision(SQLModel):
    """One value or member that a publisher changed without saying so, as we saw it."""

    dataset: str = column("SilentRevision.dataset")
    source: str = column("SilentRevision.source")
    country: str | None = column("SilentRevision.country")
    service_id: str | None = column("SilentRevision.service_id")
    line_item: str | None = column("SilentRevision.line_item")
    series: str | None = column("SilentRevision.series")
    indicator: str | None = column("SilentRevision.indicator")
    ocid: str | None = column("SilentRevision.ocid")
    release_id: str | None = column("SilentRevision.release_id")
    unit: str | None = column("SilentRevision.unit")
    base_period: str | None = column("SilentRevision.base_period")
    basis: str | None = column("SilentRevision.basis")
    period_start: date | None = column("SilentRevision.period_start")
    period_end: date | None = column("SilentRevision.period_end")
    member: str = column("SilentRevision.member")
    kind: RevisionKind = column("SilentRevision.kind")
    before: str | None = column("SilentRevision.before")
    after: str | None = column("SilentRevision.after")
    before_since: date = column("SilentRevision.before_since")
    before_last_seen_at: datetime = column("SilentRevision.before_last_seen_at")
    after_first_seen_at: datetime = column("SilentRevision.after_first_seen_at")
    publication_before: str = column("SilentRevision.publication_before")
    publication: str = column("SilentRevision.publication")
    license_class: LicenseClass = column("SilentRevision.license_class", part="provenance")
    source_ref_before: str = column("SilentRevision.source_ref_before", part="provenance")
    source_ref: str = column("SilentRevision.source_ref", part="provenance")
    revision_id: str = column("SilentRevision.revision_id", identity=1)


class LeftOut(SQLModel):
    """Stored rows that a build leaves out, by table, rule and source."""

    table_name: str = column("LeftOut.table_name", identity=1)
    rule: str = column("LeftOut.rule", identity=2)
    source: str = column("LeftOut.source", identity=3)
    rows_left_out: int = column("LeftOut.rows_left_out")
    rows_stored: int = column("LeftOut.rows_stored")
    example: str = column("LeftOut.example")


# The tables computed for a build, by name.
DERIVED: Mapping[str, type[SQLModel]] = {
    "same_as": SameAs,
    "vetoed_joins": VetoedJoin,
    "party_matches": PartyMatch,
    "metrics": Metric,
    "metrics_absent": MetricAbsent,
    "derived_figures": DerivedFigure,
    "metrics_ttm": Metric,
    "metrics_ttm_absent": MetricAbsent,
    "first_listings": FirstListing,
    "exchange_sessions": ExchangeSession,
    "signals": Signal,
    "silent_revisions": SilentRevision,
    "quality": QualityMetric,
    "left_out": LeftOut,
}
