"""Awards as facts: the statement, apart from the reading, so that a surface can load it."""

from warehouse.mart.served_rows import SAME_PARTY

# Where what releases state of awards is staged, and what that comes to.
STATEMENTS, VINTAGES = "award_statements", "award_vintages"

# Stands after every day: what is known now, also from releases without a day.
_NOW = "DATE '9999-12-31'"
_AWARD = "source, ocid, award_id"
_ORDER = "coalesce(released_on, available_at), available_at, publication, release_vintage, row_id"


def _known(table: str, day: str) -> str:
    return (
        f"{table}.available_at <= {day} "
        f"AND ({table}.superseded_at IS NULL OR {table}.superseded_at > {day})"
    )


def _newest(name: str) -> str:
    return f"arg_max({name}, turn) FILTER ({name} IS NOT NULL) AS {name}"


# On each day on which something changes, the releases known then are merged as OCDS does: of
# each member of an award the newest release that states it counts. Who supplies is who bore
# the name in that release on its day; of two organisations of one name it is neither. The fact
# stands while the award does, from the day on which all of it was known; another value or day
# of it is another vintage.
AWARD_VINTAGES = f"""
WITH who AS (
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
            ELSE {_known("party", "released.available_at")} END
    GROUP BY released.row_id, party.name
    HAVING min(matched.service_id) = max(matched.service_id)
),
supplying AS (
    SELECT row_id, award_id, list(DISTINCT service_id) FILTER (service_id IS NOT NULL) AS winners
    FROM (SELECT row_id, award_id, unnest(names) AS name FROM {STATEMENTS})
    LEFT JOIN who USING (row_id, name) GROUP BY ALL
),
stated AS (
    SELECT held.row_id, award_id, awarded_on, status, source, ocid, available_at, superseded_at,
        latest, row_number() OVER (PARTITION BY {_AWARD} ORDER BY {_ORDER}) AS turn,
        CASE WHEN len(names) > 0 THEN coalesce(winners, []) END AS winners,
        CASE WHEN value IS NOT NULL THEN
            {{'value': value, 'unit': unit, 'row_id': held.row_id}} END AS money
    FROM {STATEMENTS} AS held
    LEFT JOIN supplying USING (row_id, award_id)
    JOIN (
        SELECT row_id, source, ocid, available_at, superseded_at, latest, released_on,
            publication, vintage AS release_vintage FROM tender_releases
    ) USING (row_id)
),
days AS (
    SELECT *, row_number() OVER (PARTITION BY {_AWARD} ORDER BY day) AS number,
        lead(day) OVER (PARTITION BY {_AWARD} ORDER BY day) AS next_day
    FROM (
        SELECT DISTINCT {_AWARD}, unnest([available_at, superseded_at, {_NOW}]) AS day FROM stated
    ) WHERE day IS NOT NULL
),
merged AS (
    SELECT {_AWARD}, day, number, next_day,
        {", ".join(map(_newest, ("status", "money", "winners", "awarded_on")))}
    FROM days JOIN stated USING ({_AWARD})
    WHERE CASE WHEN day = {_NOW} THEN stated.latest ELSE {_known("stated", "day")} END
    GROUP BY ALL
),
standing AS (
    SELECT {_AWARD}, day, number, next_day, awarded_on, money.*,
        unnest(winners) AS service_id
    FROM merged WHERE money IS NOT NULL AND (status IS NULL OR status = 'active')
),
compared AS (
    SELECT *, lag(number) OVER one IS DISTINCT FROM number - 1
        OR lag({{'value': value, 'unit': unit, 'day': awarded_on}}) OVER one
            IS DISTINCT FROM {{'value': value, 'unit': unit, 'day': awarded_on}} AS begins
    FROM standing
    WINDOW one AS (PARTITION BY {_AWARD}, service_id ORDER BY number)
),
numbered AS (
    SELECT *, CAST(sum(CAST(begins AS INTEGER)) OVER (
        PARTITION BY {_AWARD}, service_id ORDER BY number) AS BIGINT) AS vintage
    FROM compared
),
vintages AS (
    SELECT {_AWARD}, service_id, vintage, arg_min(row_id, number) AS row_id,
        any_value(value) AS value, any_value(unit) AS unit, any_value(awarded_on) AS awarded_on,
        nullif(min(day), {_NOW}) AS available_at,
        nullif(arg_max(next_day, number), {_NOW}) AS superseded_at,
        max(day) = {_NOW} AS latest
    FROM numbered GROUP BY ALL
)
SELECT vintages.*, released.* EXCLUDE (row_id), FALSE AS withdrawn,
    md5(concat_ws('/', row_id, award_id, service_id)) AS fact_id,
    coalesce(awarded_on, released_on) AS period_end
FROM vintages
JOIN (
    SELECT row_id, country, released_on, source_ref, license_class, observed_at, method,
        extraction_confidence, provenance_id FROM tender_releases
) AS released USING (row_id)
""".strip()

AWARD_FACTS = f"""
SELECT held.*, held.service_id AS entity_id, named.legal_name AS entity_name,
    countries.country_iso3, 'AF-TENDER' AS dataset, 'award_value' AS measure,
    'INSTANT' AS period_type
FROM {VINTAGES} AS held
LEFT JOIN (
    SELECT service_id, any_value(legal_name ORDER BY lei IS NULL, source) AS legal_name
    FROM entities WHERE latest GROUP BY 1
) AS named ON named.service_id = held.service_id
LEFT JOIN countries ON countries.country = held.country
""".strip()
