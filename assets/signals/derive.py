"""Derive the signal panels of a build: every measure of every month, as known at each closing.

Start here: ``signals`` runs the steps in order. Each step creates temporary tables in DuckDB that
the next ones read; a panel adds its measures to ``raw``, and rows become vintages at the end.
"""

from collections.abc import Mapping
from contextlib import closing

import duckdb
import pyarrow as pa

from assets.signals.calendar import number_countries
from assets.signals.concentration import add_concentration
from assets.signals.demand import add_demand
from assets.signals.every_month import add_empty_months
from assets.signals.listed_issuers import add_award_intensity
from assets.signals.process_states import create_states
from assets.signals.rates import add_award_to_estimate, add_rates
from assets.signals.raw_measures import create_coverages, create_quotients, create_raw
from assets.signals.suppliers import add_newcomers
from assets.tenders.portals import Portal
from warehouse.mart.snapshot import Snapshot
from warehouse.methodology.signals import PANELS, SIGNAL_SET
from warehouse.record.tables import arrow_schema
from warehouse.tables import LICENSE_CLASSES
from warehouse.tables.derived import Signal

# What a row was made from: the sources of the releases, their dataset in the manifest, and the day
# of the closing. The measure of listed issuers also uses their revenue.
_SOURCE_REF = """concat(sources, ' (AF-TENDER releases',
    CASE WHEN changed.panel = 'listed-award-intensity' THEN ' and AF-FUND revenue' ELSE '' END,
    ' known on ', evaluated.closed_at, ')')"""
_KEY = "panel, country_no, month_no, dimension, dimension_value, party_no, measure, currency"


def signals(snapshot: Snapshot, portals: Mapping[str, Portal]) -> dict[str, pa.Table]:
    """Derive every panel from all vintages of the tenders; no clock is used.

    ``portals`` say how each source of tenders writes dates.
    """
    with closing(snapshot.sql.cursor()) as sql:
        # The order is that of the tables: states need the countries, panels need the states.
        number_countries(sql)
        create_states(sql, portals)
        create_raw(sql)
        for add_panels in (
            add_rates,
            add_demand,
            add_concentration,
            add_newcomers,
            add_award_to_estimate,
            add_award_intensity,
        ):
            add_panels(sql)
        add_empty_months(sql)
        create_quotients(sql)
        return {"signals": _vintages(sql)}


def _vintages(sql: duckdb.DuckDBPyConnection) -> pa.Table:
    """Return the rows of ``signals``: one vintage per closing that changed a row."""
    units = ", ".join(
        f"('{panel.key}', '{measure.key}', '{measure.unit}')"
        for panel in PANELS
        for measure in panel.measures
    )
    licences = ", ".join(f"'{name}'" for name in LICENSE_CLASSES)
    sql.execute(f"""
CREATE TEMP TABLE valued AS
SELECT {_KEY}, closing_no, value, n_eligible, n_withheld,
    -- a row without a value has observed nothing
    CASE WHEN value IS NULL THEN 0 ELSE n_observed END AS n_observed
-- joined on the operands: equal divisions were computed once for all rows that have them
FROM raw LEFT JOIN quotients ON n_observed > 0 AND quotients.denominator = raw.denominator
    AND quotients.kind = raw.kind AND quotients.term1 = raw.term1
    AND quotients.term2 = raw.term2 AND quotients.term3 = raw.term3""")
    # These are large and not needed any more.
    sql.execute("DROP TABLE raw")
    sql.execute("DROP TABLE quotients")
    create_coverages(sql)
    table = sql.sql(f"""
WITH compared AS (
    SELECT *, (value, n_eligible, n_observed, n_withheld) AS numbers,
        lag((value, n_eligible, n_observed, n_withheld)) OVER in_order AS numbers_before,
        row_number() OVER in_order = 1 AS is_first
    FROM valued WINDOW in_order AS (PARTITION BY {_KEY} ORDER BY closing_no)
),
changed AS (
    -- a closing that changes nothing is no vintage
    SELECT *, row_number() OVER in_order AS vintage, lead(closing_no) OVER in_order AS next_closing
    FROM compared WHERE is_first OR numbers IS DISTINCT FROM numbers_before
    WINDOW in_order AS (PARTITION BY {_KEY} ORDER BY closing_no)
)
SELECT changed.panel AS signal_key, own.country, own.month, own.closed_at, dimension,
    CASE dimension WHEN 'buyer' THEN concat(parties.source, '/', party_key)
        -- codes and parties were numbered for speed: the served text is put back here
        WHEN 'category' THEN category_code.code ELSE dimension_value END AS dimension_value,
    CASE WHEN dimension = 'issuer' THEN dimension_value ELSE service_id END AS service_id,
    changed.measure, value, unit, currency_code.code AS currency, changed.n_eligible,
    changed.n_observed, coverage, n_withheld, vintage, evaluated.closed_at AS available_at,
    next.closed_at AS superseded_at, concat('{SIGNAL_SET}/', changed.panel) AS methodology_ref,
    [{licences}][licence_rank] AS license_class, {_SOURCE_REF} AS source_ref, observed_at, method,
    extraction_confidence,
    -- one provenance for all rows that came from the same sources at the same closing
    md5(concat_ws('#', changed.panel, own.country, own.month, vintage, {_SOURCE_REF}))
        AS provenance_id
FROM changed
-- the closing of the month itself, the one at which this vintage was evaluated, and the next
JOIN closings AS own ON own.country_no = changed.country_no AND own.closing_no = changed.month_no
JOIN closings AS evaluated ON evaluated.country_no = changed.country_no
    AND evaluated.closing_no = changed.closing_no
LEFT JOIN closings AS next ON next.country_no = changed.country_no
    AND next.closing_no = next_closing
JOIN closing_sources ON closing_sources.country_no = changed.country_no
    AND closing_sources.closing_no = changed.closing_no
JOIN (VALUES {units}) AS units(panel, measure, unit)
    ON units.panel = changed.panel AND units.measure = changed.measure
LEFT JOIN coverages ON coverages.n_observed = changed.n_observed
    AND coverages.n_eligible = changed.n_eligible
LEFT JOIN codes AS currency_code ON currency_code.code_no = currency
LEFT JOIN codes AS category_code
    ON dimension = 'category' AND category_code.code_no = TRY_CAST(dimension_value AS INTEGER)
LEFT JOIN parties ON parties.party_no = changed.party_no
-- 6 and 11 are the dimension_value and the currency as served
ORDER BY signal_key, own.country, own.month, dimension, 6, changed.measure, 11, vintage
""").to_arrow_table()
    return table.select(arrow_schema(Signal).names)
