"""The panels of a build: every measure of every month, at each closing that changed it."""

from contextlib import closing

import duckdb
import pyarrow as pa

from assets.signals import raw_measures
from assets.signals.calendar import countries
from assets.signals.concentration import concentration
from assets.signals.demand import demand
from assets.signals.listed_issuers import listed
from assets.signals.process_states import states
from assets.signals.rates import counted
from assets.signals.raw_measures import quotients, shares
from assets.signals.suppliers import against_estimate, newcomers
from warehouse.mart.snapshot import Snapshot
from warehouse.methodology.signals import PANELS, SIGNAL_SET
from warehouse.record.ledger import code_version
from warehouse.record.tables import arrow_schema
from warehouse.tables import LICENSE_CLASSES
from warehouse.tables.derived import Signal

VERSION = f"{SIGNAL_SET} {code_version()}"

# What the releases were known as: the dataset of the manifest, and the day of the closing. The
# measure of listed issuers is of their revenue too.
_PLACE = """concat(sources, ' (AF-TENDER releases',
    CASE WHEN changed.panel = 'listed-award-intensity' THEN ' and AF-FUND revenue' ELSE '' END,
    ' known on ', shown.closed_at, ')')"""
_KEY = "panel, c, m, dimension, dimension_value, party, measure, currency"


def signals(snapshot: Snapshot) -> dict[str, pa.Table]:
    """Derive every panel from all vintages of the tenders; there is no clock in it."""
    with closing(snapshot.sql.cursor()) as sql:
        countries(sql)
        states(sql)
        raw_measures.make(sql)
        for panels in (counted, demand, concentration, newcomers, against_estimate, listed):
            panels(sql)
        quotients(sql)
        return {"signals": _vintages(sql)}


def _vintages(sql: duckdb.DuckDBPyConnection) -> pa.Table:
    """Keep of each row the closings at which it changed, as vintages."""
    units = ", ".join(
        f"('{panel.key}', '{measure.key}', '{measure.unit}')"
        for panel in PANELS
        for measure in panel.measures
    )
    classes = ", ".join(f"'{name}'" for name in LICENSE_CLASSES)
    sql.execute(f"""
CREATE TEMP TABLE valued AS
SELECT {_KEY}, k, value, n_eligible, n_withheld,
    CASE WHEN value IS NULL THEN 0 ELSE n_observed END AS n_observed
FROM raw LEFT JOIN quotients ON n_observed > 0 AND quotients.den = raw.den
    AND quotients.kind = raw.kind AND quotients.n1 = raw.n1
    AND quotients.n2 = raw.n2 AND quotients.n3 = raw.n3""")
    sql.execute("DROP TABLE raw")
    sql.execute("DROP TABLE quotients")
    shares(sql)
    table = sql.sql(f"""
WITH compared AS (
    SELECT *, (value, n_eligible, n_observed, n_withheld) AS told,
        lag((value, n_eligible, n_observed, n_withheld)) OVER ordered AS told_before,
        row_number() OVER ordered = 1 AS first
    FROM valued WINDOW ordered AS (PARTITION BY {_KEY} ORDER BY k)
),
changed AS (
    SELECT *, row_number() OVER ordered AS vintage, lead(k) OVER ordered AS next_k
    FROM compared WHERE first OR told IS DISTINCT FROM told_before
    WINDOW ordered AS (PARTITION BY {_KEY} ORDER BY k)
)
SELECT changed.panel AS signal_key, own.country, own.month, own.closed_at, dimension,
    CASE dimension WHEN 'buyer' THEN concat(parties.source, '/', party_key)
        WHEN 'category' THEN kind.word ELSE dimension_value END AS dimension_value,
    CASE WHEN dimension = 'issuer' THEN dimension_value ELSE service_id END AS service_id,
    changed.measure, value, unit, money.word AS currency, changed.n_eligible, changed.n_observed,
    coverage, n_withheld, vintage, shown.closed_at AS available_at,
    next.closed_at AS superseded_at, concat('{SIGNAL_SET}/', changed.panel) AS methodology_ref,
    [{classes}][rank] AS license_class, {_PLACE} AS source_ref, observed_at, method,
    extraction_confidence,
    md5(concat_ws('#', changed.panel, own.country, own.month, vintage, {_PLACE})) AS provenance_id
FROM changed
JOIN closings AS own ON own.c = changed.c AND own.k = changed.m
JOIN closings AS shown ON shown.c = changed.c AND shown.k = changed.k
JOIN under ON under.c = changed.c AND under.k = changed.k
JOIN (VALUES {units}) AS units(panel, measure, unit)
    ON units.panel = changed.panel AND units.measure = changed.measure
LEFT JOIN closings AS next ON next.c = changed.c AND next.k = next_k
LEFT JOIN shares ON shares.n_observed = changed.n_observed
    AND shares.n_eligible = changed.n_eligible
LEFT JOIN words AS money ON money.id = currency
LEFT JOIN words AS kind
    ON dimension = 'category' AND kind.id = TRY_CAST(dimension_value AS INTEGER)
LEFT JOIN parties ON parties.party = changed.party
ORDER BY signal_key, own.country, own.month, dimension, 6, changed.measure, 11, vintage
""").to_arrow_table()
    return table.select(arrow_schema(Signal).names)
