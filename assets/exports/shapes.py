"""The columns of each file, named as in the records that the API serves."""

from assets.exports.awards import Award
from assets.exports.columns import Bulk, columns, provenance, record_id, vintages
from warehouse.tables import (
    Fundamental,
    MacroAnnual,
    MacroSeries,
    PartyMatch,
    QualityMetric,
    Signal,
    TenderParty,
    TenderRelease,
)

_OBSERVED = ("period_start", "period_end", "value", "unit", "base_period", "obs_status")
# Between the parts of an id: no text that is published has it.
_ONE = "md5(concat_ws(chr(31), {}))"
_SIGNAL_ID = (
    "signal_key, country, month, dimension, dimension_value, coalesce(service_id, ''), measure, "
    "coalesce(currency, ''), vintage"
)

FACT = (
    record_id(name="fact_id")
    + columns(
        Fundamental,
        (
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
        ),
    )
    + vintages()
    + provenance()
)
RELEASE = (
    record_id()
    + columns(
        TenderRelease,
        (
            "ocid",
            "release_id",
            "date=released_on",
            "tag",
            "country",
            "category",
            "tender_status",
            "procurement_method",
            "tender_value",
            "tender_currency",
            "tender_start",
            "tender_end",
            "number_of_tenderers",
            "release",
            "parties_withheld",
            "source",
            "source_url",
        ),
    )
    + vintages()
    + provenance()
)
AWARD = (
    record_id("award_row_id")
    + columns(TenderRelease, ("ocid", "release_id", "country"))
    + columns(Award, tuple(Award.model_fields))
    + columns(TenderRelease, ("parties_withheld", "source", "source_url"))
    + vintages()
    + provenance()
)
PARTY = (
    record_id()
    + columns(TenderParty, ("ocid", "release_id", "country"))
    + columns(Bulk, ("party_id",))
    + columns(PartyMatch, ("service_id", "match_method"))
    + columns(
        TenderParty,
        ("role", "name", "identifier_scheme", "identifier_id", "org_evidence", "released_on"),
    )
    + columns(TenderParty, ("source",))
    + vintages()
    + provenance()
)
_SERIES = columns(
    MacroSeries, ("country", "country_iso3", "series", "series_type", "frequency", *_OBSERVED)
)
SERIES = record_id() + _SERIES + columns(MacroSeries, ("source",)) + vintages() + provenance()
SERIES_NOW = (
    record_id()
    + _SERIES
    + columns(MacroSeries, ("source", "available_at"))
    + columns(Bulk, ("vintage",))
    + provenance()
)
ANNUAL = (
    record_id()
    + columns(MacroAnnual, ("country", "country_iso3", "indicator", *_OBSERVED, "source"))
    + vintages()
    + provenance()
)
SIGNAL = record_id(_ONE.format(_SIGNAL_ID)) + columns(Signal, tuple(Signal.model_fields))
QUALITY = record_id(_ONE.format("data_version, sku, dimension, metric, scope")) + columns(
    QualityMetric, tuple(QualityMetric.model_fields)
)
