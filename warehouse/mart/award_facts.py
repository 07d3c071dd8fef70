"""SQL of the award facts: what each organisation was known to have won, vintage by vintage.

Only SQL, apart from the reader in ``awards``: the surfaces load this module.
"""

from warehouse.mart.served_rows import NAMED_ENTITIES, SAME_PARTY

# Tables of a snapshot: awards as releases state them, and the vintages merged from those.
STATEMENTS, VINTAGES = "award_statements", "award_vintages"

# A day after every other: what is known now, also from releases without a day.
NOW = "DATE '9999-12-31'"
_AWARD = "source, ocid, award_id"
RELEASE_ORDER = (
    "coalesce(released_on, available_at), available_at, publication, release_vintage, row_id"
)


def known_on(table: str, day: str) -> str:
    """Return SQL for whether a row of a table was the one known on a day."""
    # Half-open: on the day of a change the new release counts, and on no day do both.
    return (
        f"{table}.available_at <= {day} "
        f"AND ({table}.superseded_at IS NULL OR {table}.superseded_at > {day})"
    )


def _newest(column: str) -> str:
    return f"arg_max({column}, release_order) FILTER ({column} IS NOT NULL) AS {column}"


# On each day on which something changes, the releases known then are merged as OCDS does it: for
# each member of an award, the newest release that states it counts. The fact stands while the
# award is active; another value or award date is another vintage.
AWARD_VINTAGES = f"""
WITH
-- Which organisation bore a supplier's name in that release, on its day. If two organisations
-- have the name, it is resolved to neither.
suppliers AS (
    SELECT released.row_id, party.name, min(matched.service_id) AS service_id
    FROM (
        SELECT row_id, source, ocid, release_id, available_at FROM tender_releases
        SEMI JOIN {STATEMENTS} USING (row_id)
    ) AS released
    JOIN tender_parties AS party ON party.source = released.source
        AND party.ocid = released.ocid AND party.release_id = released.release_id
    JOIN party_matches AS matched ON {SAME_PARTY}
    WHERE party.role = 'supplier' AND party.name IS NOT NULL AND NOT party.withdrawn
        AND matched.service_id IS NOT NULL
        AND CASE WHEN released.available_at IS NULL THEN party.latest
            ELSE {known_on("party", "released.available_at")} END
    GROUP BY released.row_id, party.name
    HAVING min(matched.service_id) = max(matched.service_id)
),
-- The winners of an award in one release that are resolved; null if none is.
award_winners AS (
    SELECT row_id, award_id, list(DISTINCT service_id) FILTER (service_id IS NOT NULL) AS winners
    FROM (SELECT row_id, award_id, unnest(names) AS name FROM {STATEMENTS})
    LEFT JOIN suppliers USING (row_id, name) GROUP BY ALL
),
-- Each statement with its position among all releases that state the award. A release without
-- suppliers or without a value leaves that member as it was: NULL.
ordered AS (
    SELECT statement.row_id, award_id, awarded_on, status, source, ocid, available_at,
        superseded_at, latest,
        row_number() OVER (PARTITION BY {_AWARD} ORDER BY {RELEASE_ORDER}) AS release_order,
        CASE WHEN len(names) > 0 THEN coalesce(winners, []) END AS winners,
        CASE WHEN value IS NOT NULL THEN
            {{'value': value, 'unit': unit, 'row_id': statement.row_id}} END AS money
    FROM {STATEMENTS} AS statement
    LEFT JOIN award_winners USING (row_id, award_id)
    JOIN (
        SELECT row_id, source, ocid, available_at, superseded_at, latest, released_on,
            publication, vintage AS release_vintage FROM tender_releases
    ) USING (row_id)
),
-- The days on which the set of known releases of an award changes, numbered, and today.
days AS (
    SELECT *, row_number() OVER (PARTITION BY {_AWARD} ORDER BY day) AS day_number,
        lead(day) OVER (PARTITION BY {_AWARD} ORDER BY day) AS next_day
    FROM (
        SELECT DISTINCT {_AWARD}, unnest([available_at, superseded_at, {NOW}]) AS day FROM ordered
    ) WHERE day IS NOT NULL
),
-- The award as it was known on each of those days.
merged AS (
    SELECT {_AWARD}, day, day_number, next_day,
        {", ".join(map(_newest, ("status", "money", "winners", "awarded_on")))}
    FROM days JOIN ordered USING ({_AWARD})
    WHERE CASE WHEN day = {NOW} THEN ordered.latest ELSE {known_on("ordered", "day")} END
    GROUP BY ALL
),
-- One row per winner, on the days on which the award stood.
standing AS (
    SELECT {_AWARD}, day, day_number, next_day, awarded_on, money.*,
        unnest(winners) AS service_id
    FROM merged WHERE money IS NOT NULL AND (status IS NULL OR status = 'active')
),
-- A vintage begins after a day on which the fact did not stand, or if its value or date changes.
compared AS (
    SELECT *, lag(day_number) OVER fact IS DISTINCT FROM day_number - 1
        OR lag({{'value': value, 'unit': unit, 'awarded_on': awarded_on}}) OVER fact
            IS DISTINCT FROM {{'value': value, 'unit': unit, 'awarded_on': awarded_on}}
            AS begins_vintage
    FROM standing
    WINDOW fact AS (PARTITION BY {_AWARD}, service_id ORDER BY day_number)
),
-- A running count of the beginnings numbers the vintages from 1.
numbered AS (
    SELECT *, CAST(sum(CAST(begins_vintage AS INTEGER)) OVER (
        PARTITION BY {_AWARD}, service_id ORDER BY day_number) AS BIGINT) AS vintage
    FROM compared
),
-- One row per vintage; it ends on the first day on which it no longer stood. The day that stands
-- for today is not a date: a fact without any other day has no available_at.
vintages AS (
    SELECT {_AWARD}, service_id, vintage, arg_min(row_id, day_number) AS row_id,
        any_value(value) AS value, any_value(unit) AS unit, any_value(awarded_on) AS awarded_on,
        nullif(min(day), {NOW}) AS available_at,
        nullif(arg_max(next_day, day_number), {NOW}) AS superseded_at,
        max(day) = {NOW} AS latest
    FROM numbered GROUP BY ALL
)
-- Provenance is that of the release that states the value.
SELECT vintages.*, released.* EXCLUDE (row_id), FALSE AS withdrawn,
    md5(concat_ws('/', row_id, award_id, service_id)) AS fact_id,
    coalesce(awarded_on, released_on) AS period_end
FROM vintages
JOIN (
    SELECT row_id, country, released_on, source_ref, license_class, observed_at, method,
        extraction_confidence, provenance_id FROM tender_releases
) AS released USING (row_id)
""".strip()

# Each award fact with the name of its winner.
NAMED_AWARDS = f"""
SELECT facts.*, facts.service_id AS entity_id, entity_names.legal_name AS entity_name
FROM {VINTAGES} AS facts
LEFT JOIN ({NAMED_ENTITIES}) AS entity_names ON entity_names.service_id = facts.service_id
""".strip()

AWARD_FACTS = f"""
SELECT facts.*, countries.country_iso3, 'AF-TENDER' AS dataset, 'award_value' AS measure,
    'INSTANT' AS period_type, NULL::VARCHAR AS base_period
FROM ({NAMED_AWARDS}) AS facts LEFT JOIN countries ON countries.country = facts.country
""".strip()
