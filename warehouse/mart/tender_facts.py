"""SQL of the tender facts: the estimated value of each process, vintage by vintage.

A process is published in several releases. Its fact is the value in the newest release known on a
day that states one, so that a process counts once on any day. Only SQL: the surfaces load this
module.
"""

from warehouse.mart.award_facts import NOW, RELEASE_ORDER, known_on
from warehouse.mart.served_rows import RELEASES

# Table of a snapshot: the value of each process, in every vintage.
TENDER_VINTAGES_TABLE = "tender_vintages"
_PROCESS = "source, ocid"

TENDER_VINTAGES = f"""
WITH
-- The releases that state a value; one that states none leaves it as it was.
ordered AS (
    SELECT row_id, {_PROCESS}, available_at, superseded_at, latest,
        {{'row_id': row_id, 'value': tender_value, 'unit': tender_currency}} AS stated,
        row_number() OVER (PARTITION BY {_PROCESS} ORDER BY {RELEASE_ORDER}) AS release_order
    FROM (SELECT *, vintage AS release_vintage FROM tender_releases)
    WHERE tender_value IS NOT NULL AND NOT withdrawn
),
-- The days on which the set of known releases of a process changes, numbered, and today.
days AS (
    SELECT *, row_number() OVER (PARTITION BY {_PROCESS} ORDER BY day) AS day_number,
        lead(day) OVER (PARTITION BY {_PROCESS} ORDER BY day) AS next_day
    FROM (
        SELECT DISTINCT {_PROCESS}, unnest([available_at, superseded_at, {NOW}]) AS day
        FROM ordered
    ) WHERE day IS NOT NULL
),
merged AS (
    SELECT {_PROCESS}, day, day_number, next_day, arg_max(stated, release_order) AS stated
    FROM days JOIN ordered USING ({_PROCESS})
    WHERE CASE WHEN day = {NOW} THEN ordered.latest ELSE {known_on("ordered", "day")} END
    GROUP BY ALL
),
standing AS (
    SELECT {_PROCESS}, day, day_number, next_day, stated.* FROM merged
),
-- A vintage begins after a day without a value, or if the value or its currency changes.
compared AS (
    SELECT *, lag(day_number) OVER process IS DISTINCT FROM day_number - 1
        OR lag({{'value': value, 'unit': unit}}) OVER process
            IS DISTINCT FROM {{'value': value, 'unit': unit}} AS begins_vintage
    FROM standing WINDOW process AS (PARTITION BY {_PROCESS} ORDER BY day_number)
),
numbered AS (
    SELECT *, CAST(sum(CAST(begins_vintage AS INTEGER)) OVER (
        PARTITION BY {_PROCESS} ORDER BY day_number) AS BIGINT) AS vintage
    FROM compared
),
vintages AS (
    SELECT {_PROCESS}, vintage, arg_min(row_id, day_number) AS row_id,
        any_value(value) AS value, any_value(unit) AS unit,
        nullif(min(day), {NOW}) AS available_at,
        nullif(arg_max(next_day, day_number), {NOW}) AS superseded_at,
        max(day) = {NOW} AS latest
    FROM numbered GROUP BY ALL
)
-- Buyer and provenance are those of the release that first states the value.
SELECT vintages.*, FALSE AS withdrawn, row_id AS fact_id, released.* EXCLUDE (row_id),
    released_on AS period_end
FROM vintages
JOIN (
    SELECT row_id, buyer_id AS entity_id, json_extract_string(release, '$.buyer.name')
        AS entity_name, country, released_on, source_ref, license_class, observed_at, method,
        extraction_confidence, provenance_id
    FROM ({RELEASES})
) AS released USING (row_id)
""".strip()

TENDER_FACTS = f"""
SELECT facts.*, countries.country_iso3, 'AF-TENDER' AS dataset, 'tender_value' AS measure,
    'INSTANT' AS period_type, NULL::VARCHAR AS base_period
FROM {TENDER_VINTAGES_TABLE} AS facts
LEFT JOIN countries ON countries.country = facts.country
""".strip()
