"""Ratios of reported figures, by formulas that are published."""

from datetime import date, datetime
from decimal import Decimal

from sqlmodel import SQLModel

from warehouse.methodology.metrics import Reason
from warehouse.tables.column import column
from warehouse.tables.sighting import LicenseClass, Method


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
    reason: Reason = column("Why there is no value.", "input_not_reported")
    holds_from: date = column("First as_of day for which this is so.", "2019-03-29")
    holds_until: date | None = column(
        "First as_of day for which it no longer is; null if none, equal to holds_from where it "
        "never was.",
        "2020-03-27",
    )
