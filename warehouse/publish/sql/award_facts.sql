-- The award facts: what each organisation was known to have won, vintage by vintage.
--
-- On each day on which something changes, the releases known then are merged as OCDS does it: for
-- each member of an award, the newest release that states it counts. The fact is in effect while
-- the award is active; another value or award date is another vintage. DATE '9999-12-31' is a day
-- after every other: what is known now, also from releases without a day.
--
-- Inputs: tender_releases, tender_parties, party_matches, award_statements; entities, countries (of
--   the facts as they are served)
-- Outputs: award_vintages (table); named_awards, award_facts (queries)

-- name: award_vintages
-- What each organisation had won, in every vintage. An award without a value is no fact, but counts
-- among what a supplier won.
WITH suppliers AS (
    -- which organisation bore a supplier's name in that release, on its day, or which party that no
    -- register knows, by its party_id; if two have the name, it is resolved to neither
    SELECT
        released.row_id, party.name,
        coalesce(min(party.service_id), min(party.party_id)) AS service_id
    FROM (
        SELECT row_id, source, ocid, release_id, available_at
        FROM tender_releases
        SEMI JOIN award_statements USING (row_id)
    ) AS released
    JOIN (
        SELECT *, {{ id_of_party }} AS party_id
        FROM (
            SELECT party.*, matched.service_id
            FROM tender_parties AS party
            LEFT JOIN party_matches AS matched ON {{ same_party }}
            WHERE party.role = 'supplier' AND party.name IS NOT NULL AND NOT party.withdrawn
        )
    ) AS party
        ON party.source = released.source
        AND party.ocid = released.ocid
        AND party.release_id = released.release_id
    WHERE
        CASE
            WHEN released.available_at IS NULL THEN party.latest
            ELSE
                -- half-open: on the day of a change the new one counts, and on no day do both
                party.available_at <= released.available_at
                AND (party.superseded_at IS NULL OR party.superseded_at > released.available_at)
        END
    GROUP BY released.row_id, party.name
    HAVING
        min(party.service_id) = max(party.service_id)
        OR (min(party.service_id) IS NULL AND min(party.party_id) = max(party.party_id))
),

award_winners AS (
    -- the winners of an award in one release; null if none may be named
    SELECT row_id, award_id, list(DISTINCT service_id) FILTER (service_id IS NOT NULL) AS winners
    FROM (SELECT row_id, award_id, unnest(names) AS name FROM award_statements) AS named
    LEFT JOIN suppliers USING (row_id, name)
    GROUP BY ALL
),

ordered AS (
    -- each statement with its position among all releases that state the award; a release without
    -- suppliers or without a value leaves that member as it was: null
    SELECT
        statement.row_id, award_id, awarded_on, status, source, ocid, available_at, superseded_at,
        latest,
        row_number() OVER (
            PARTITION BY source, ocid, award_id
            ORDER BY
                coalesce(released_on, available_at), available_at, publication, vintage,
                statement.row_id
        ) AS release_order,
        CASE WHEN len(names) > 0 THEN coalesce(winners, []) END AS winners,
        CASE
            WHEN value IS NOT NULL
                THEN { 'value': value, 'unit': unit, 'row_id': statement.row_id }
        END AS money
    FROM award_statements AS statement
    LEFT JOIN award_winners USING (row_id, award_id)
    JOIN (
        SELECT
            row_id, source, ocid, available_at, superseded_at, latest, released_on, publication,
            vintage
        FROM tender_releases
    ) AS released USING (row_id)
),

days AS (
    -- the days on which the set of known releases of an award changes, numbered, and today
    SELECT
        source, ocid, award_id, day,
        row_number() OVER by_day AS day_number,
        lead(day) OVER by_day AS next_day
    FROM (
        SELECT DISTINCT
            source, ocid, award_id,
            unnest([available_at, superseded_at, DATE '9999-12-31']) AS day
        FROM ordered
    )
    WHERE day IS NOT NULL
    WINDOW by_day AS (PARTITION BY source, ocid, award_id ORDER BY day)
),

merged AS (
    -- the award as it was known on each of those days
    SELECT
        source, ocid, award_id, day, day_number, next_day,
        arg_max(status, release_order) FILTER (status IS NOT NULL) AS status,
        arg_max(money, release_order) FILTER (money IS NOT NULL) AS money,
        arg_max(winners, release_order) FILTER (winners IS NOT NULL) AS winners,
        arg_max(awarded_on, release_order) FILTER (awarded_on IS NOT NULL) AS awarded_on,
        arg_max(row_id, release_order) AS newest
    FROM days
    JOIN ordered USING (source, ocid, award_id)
    WHERE
        CASE
            WHEN day = DATE '9999-12-31' THEN ordered.latest
            ELSE
                ordered.available_at <= day
                AND (ordered.superseded_at IS NULL OR ordered.superseded_at > day)
        END
    GROUP BY ALL
),

standing AS (
    -- one row per winner, on the days on which the award is in effect
    SELECT
        source, ocid, award_id, day, day_number, next_day, awarded_on,
        money.value, money.unit, coalesce(money.row_id, newest) AS row_id,
        (money.value, money.unit, awarded_on) AS content,
        unnest(winners) AS service_id
    FROM merged
    WHERE status IS NULL OR status = 'active'
),

followed AS (
    SELECT
        *, lag(day_number) OVER fact AS number_before, lag(content) OVER fact AS content_before
    FROM standing
    WINDOW fact AS (PARTITION BY source, ocid, award_id, service_id ORDER BY day_number)
),

compared AS (
    -- a vintage begins after a day without the fact, or if its value or date changes
    SELECT
        *,
        (number_before + 1 IS DISTINCT FROM day_number)
        OR (content_before IS DISTINCT FROM content) AS begins_vintage
    FROM followed
),

numbered AS (
    -- a running count of the beginnings; those with a value number the vintages from 1
    SELECT
        *,
        count(*) FILTER (begins_vintage) OVER by_day AS stretch,
        count(*) FILTER (begins_vintage AND value IS NOT NULL) OVER by_day AS vintage
    FROM compared
    WINDOW by_day AS (PARTITION BY source, ocid, award_id, service_id ORDER BY day_number)
),

vintages AS (
    -- one row per vintage; it ends on the first day on which it is no longer in effect; 9999-12-31
    -- means today and is not a date: a fact without any other day has no available_at
    SELECT
        source, ocid, award_id, service_id, vintage,
        CASE WHEN value IS NULL THEN stretch END AS unnumbered,
        arg_min(row_id, day_number) AS row_id, any_value(value) AS value, any_value(unit) AS unit,
        any_value(awarded_on) AS awarded_on,
        nullif(min(day), DATE '9999-12-31') AS available_at,
        nullif(arg_max(next_day, day_number), DATE '9999-12-31') AS superseded_at,
        max(day) = DATE '9999-12-31' AS latest
    FROM numbered
    GROUP BY ALL
)

-- buyer, title and provenance are those of the release that states the value, or of the newest one
SELECT
    vintages.* EXCLUDE (service_id, unnumbered), service_id AS winner_id,
    CASE WHEN starts_with(service_id, 'DC') THEN service_id END AS service_id,
    released.* EXCLUDE (row_id), FALSE AS withdrawn,
    -- several may have no value, and then no number
    md5(concat_ws('/', row_id, award_id, service_id, unnumbered)) AS fact_id,
    coalesce(awarded_on, released_on) AS period_end
FROM vintages
JOIN (
    SELECT
        row_id, country, released_on, source_ref, license_class, observed_at, method,
        extraction_confidence, provenance_id, category, buyer_id,
        json_extract_string(release, '$.buyer.name') AS buyer,
        json_extract_string(release, '$.tender.title') AS title
    FROM ({{ releases }})
) AS released USING (row_id);

-- name: named_awards
-- Each award fact, which has a value, with the name of its winner.
SELECT
    facts.*, facts.winner_id AS entity_id,
    coalesce(entity_names.legal_name, party_names.name) AS entity_name
FROM award_vintages AS facts
LEFT JOIN ({{ named_entities }}) AS entity_names ON entity_names.service_id = facts.service_id
LEFT JOIN (
    SELECT {{ id_of_party }} AS party_id, min(name) AS name
    FROM (
        SELECT *, CAST(NULL AS VARCHAR) AS service_id
        FROM tender_parties
        WHERE role = 'supplier' AND name IS NOT NULL
    )
    GROUP BY ALL
) AS party_names ON party_names.party_id = facts.winner_id
WHERE facts.value IS NOT NULL;

-- name: award_facts
-- The same as it is served.
SELECT
    -- that of a supplier that no register knows is its party_id
    facts.*, facts.winner_id AS organisation, countries.country_iso3, 'AF-TENDER' AS dataset,
    'award_value' AS measure, 'INSTANT' AS period_type, CAST(NULL AS VARCHAR) AS base_period
FROM ({{ named_awards }}) AS facts
LEFT JOIN countries ON countries.country = facts.country;
