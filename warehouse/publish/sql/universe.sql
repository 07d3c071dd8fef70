-- Who was listed on which day: every listing in its states, each from a day on.
--
-- A state begins when a list, or a register of names, says something else, and when a first or
-- last day comes that had been stated. It is made of what was public by then and of nothing else:
-- what no list had shown by a day is not there on it.
--
-- Inputs: identifiers, entities (every vintage)
-- Outputs: universe (a query)

-- name: universe
WITH stated AS (
    -- one ticker in one market is one listing, whoever states it
    SELECT *, upper(id_value) AS listing
    FROM identifiers
    WHERE id_type = 'ticker' AND available_at IS NOT NULL
),

names AS (
    SELECT
        *,
        lag(legal_name) OVER (PARTITION BY figure, figure_check ORDER BY vintage) AS name_before
    FROM entities
    WHERE available_at IS NOT NULL AND legal_name IS NOT NULL
),

former AS (
    -- the same register shows another name than before, or states until when it had one
    SELECT service_id, available_at, name_before AS name, CAST(available_at AS VARCHAR) AS until
    FROM names
    WHERE name_before <> legal_name
    UNION ALL
    SELECT
        service_id, available_at, unnest(CAST(CAST(former_names AS JSON) AS VARCHAR[])),
        unnest(CAST(CAST(former_names_until AS JSON) AS VARCHAR[]))
    FROM names
    -- one of which a name was taken out says nothing of the others
    WHERE json_array_length(former_names) = json_array_length(former_names_until)
),

days AS (
    SELECT service_id, listing, available_at AS day
    FROM stated
    UNION
    SELECT service_id, listing, valid_from
    FROM stated
    WHERE valid_from > available_at
    UNION
    SELECT service_id, listing, valid_to + 1
    FROM stated
    WHERE valid_to >= available_at
    UNION
    SELECT stated.service_id, stated.listing, names.available_at
    FROM stated
    JOIN names ON names.service_id = stated.service_id
),

shown AS (
    SELECT days.day, stated.*, superseded_at IS NULL OR superseded_at > day AS is_current
    FROM days
    JOIN stated
        ON stated.service_id = days.service_id
        AND stated.listing = days.listing
        AND stated.available_at <= days.day
),

listed AS (
    SELECT
        service_id, listing, day,
        bool_and(withdrawn) FILTER (is_current) AS is_gone,
        min(available_at) AS first_shown,
        first(
            valid_from ORDER BY valid_from IS NULL, NOT is_current, available_at DESC, source
        ) AS listed_from,
        -- of its last day and its status the newest statement counts
        first(
            valid_to
            ORDER BY
                NOT is_current, withdrawn, valid_from IS NULL AND valid_to IS NULL,
                available_at DESC, source, valid_to
        ) AS listed_to,
        first(
            status
            ORDER BY NOT is_current, withdrawn, status IS NULL, available_at DESC, source, status
        ) AS status,
        first(
            {
                'id_value': id_value, 'currency': currency, 'source': source,
                'source_ref': source_ref, 'license_class': license_class,
                'observed_at': observed_at, 'method': method,
                'extraction_confidence': extraction_confidence, 'provenance_id': provenance_id
            }
            ORDER BY NOT is_current, withdrawn, available_at DESC, source, source_ref
        ) AS statement
    FROM shown
    GROUP BY service_id, listing, day
),

named AS (
    SELECT
        days.service_id, days.listing, days.day,
        first(legal_name ORDER BY {{ first_record }}) AS legal_name
    FROM days
    JOIN names
        ON names.service_id = days.service_id
        AND names.available_at <= days.day
        AND (names.superseded_at IS NULL OR names.superseded_at > days.day)
    GROUP BY days.service_id, days.listing, days.day
),

renamed AS (
    SELECT
        service_id, listing, day,
        to_json(list({ 'name': name, 'until': until } ORDER BY until NULLS FIRST, name))
            AS former_names
    FROM (
        SELECT days.service_id, days.listing, days.day, former.name, min(former.until) AS until
        FROM days
        JOIN former
            ON former.service_id = days.service_id
            AND former.available_at <= days.day
        GROUP BY ALL
    )
    GROUP BY service_id, listing, day
),

states AS (
    SELECT
        split_part(statement.id_value, ':', 1) AS exchange,
        substr(statement.id_value, strpos(statement.id_value, ':') + 1) AS ticker,
        listed.service_id,
        legal_name,
        CAST(former_names AS VARCHAR) AS former_names,
        CASE
            WHEN coalesce(is_gone, TRUE) THEN 'not_shown'
            WHEN listed_to < listed.day THEN 'delisted'
            WHEN listed_to IS NULL AND contains(lower(coalesce(status, '')), 'delist')
                THEN 'delisted'
            WHEN listed_from > listed.day THEN 'announced'
            ELSE 'listed'
        END AS state,
        listed_from,
        listed_to,
        first_shown,
        status,
        statement.currency,
        listed.listing,
        listed.day AS available_at,
        statement.source,
        statement.source_ref,
        statement.license_class,
        statement.observed_at,
        statement.method,
        statement.extraction_confidence,
        statement.provenance_id
    FROM listed
    LEFT JOIN named
        ON named.service_id = listed.service_id
        AND named.listing = listed.listing
        AND named.day = listed.day
    LEFT JOIN renamed
        ON renamed.service_id = listed.service_id
        AND renamed.listing = listed.listing
        AND renamed.day = listed.day
),

changed AS (
    -- a list that repeats what is known is no new state
    SELECT *
    FROM states
    QUALIFY
        (legal_name, former_names, state, listed_from, listed_to, status, currency)
        IS DISTINCT FROM lag(
            (legal_name, former_names, state, listed_from, listed_to, status, currency)
        ) OVER (PARTITION BY service_id, listing ORDER BY available_at)
),

followed AS (
    SELECT
        *,
        row_number() OVER listings AS vintage,
        lead(available_at) OVER listings AS superseded_at
    FROM changed
    WINDOW listings AS (PARTITION BY service_id, listing ORDER BY available_at)
),

newest AS (
    -- a state that is still to come is not the latest
    SELECT max(available_at) AS day
    FROM stated
)

SELECT
    followed.* EXCLUDE (listing),
    FALSE AS withdrawn,
    available_at <= newest.day AND coalesce(superseded_at > newest.day, TRUE) AS latest,
    md5(concat_ws(chr(31), service_id, listing, available_at)) AS row_id
FROM followed, newest;
