-- What can be searched for: organisations, macro series, annual indicators, panels, buyers and
-- suppliers.
--
-- Each row is found by its names and identifiers, and by further words about it. All of them are
-- taken from rows as they are served, so that nothing withheld can be found.
--
-- Inputs: entities, identifiers, same_as, fundamentals, tender_parties, party_matches,
--   macro_series, macro_annual, signals, countries
-- Outputs: searchable (query)

-- name: searchable
WITH named_parties AS (
    SELECT role, service_id, country, name, party_id, releases
    FROM ({{ parties }})
    WHERE role IN ('buyer', 'supplier')
),

buyer_names AS (
    -- a buyer that is resolved to an organisation is found as that organisation
    SELECT service_id, list(DISTINCT name ORDER BY name) AS names
    FROM named_parties
    WHERE role = 'buyer' AND service_id IS NOT NULL
    GROUP BY service_id
),

identifiers_of AS (
    -- the types that anybody may look up, and the ISIN, which the contract refuses to keys of no
    -- paid tier by its form: another paid type needs a check like `_checked_query` first
    SELECT service_id, list(DISTINCT id_value ORDER BY id_value) AS id_values
    FROM ({{ current_identifiers }})
    WHERE id_type IN ('lei', 'isin')
    GROUP BY service_id
),

organisations AS (
    SELECT
        'organisation' AS kind, entity.service_id AS id, entity.legal_name AS name,
        list_distinct(list_filter(
            list_concat(
                coalesce(CAST(entity.other_names AS VARCHAR[]), []), coalesce(buyer_names.names, [])
            ),
            LAMBDA other: other IS NOT NULL AND other IS DISTINCT FROM entity.legal_name
        )) AS unordered_names,
        CAST(NULL AS VARCHAR) AS description, [entity.country] AS places, entity.jurisdiction,
        list_distinct(list_transform(
            entity.listings, LAMBDA listing: concat(listing.mic, ':', listing.ticker)
        )) AS tickers,
        entity.datasets,
        list_concat(
            coalesce(identifiers_of.id_values, []), list_prepend(entity.service_id, entity.aliases)
        ) AS identifiers
    FROM ({{ current_entities }}) AS entity
    LEFT JOIN buyer_names ON buyer_names.service_id = entity.service_id
    LEFT JOIN identifiers_of ON identifiers_of.service_id = entity.service_id
),

series AS (
    SELECT
        'series' AS kind, series AS id, series AS name,
        concat_ws(
            ', ', series_type, string_agg(DISTINCT frequency, ', ' ORDER BY frequency),
            string_agg(DISTINCT unit, ', ' ORDER BY unit)
        ) AS description,
        list(DISTINCT country ORDER BY country) AS places, ['AF-MACRO'] AS datasets,
        [series] AS identifiers
    FROM macro_series
    WHERE latest
    GROUP BY series, series_type
    QUALIFY row_number() OVER (PARTITION BY series ORDER BY series_type) = 1
),

indicators AS (
    SELECT
        'indicator' AS kind, indicator AS id, indicator AS name,
        concat_ws(', ', 'annual', string_agg(DISTINCT unit, ', ' ORDER BY unit)) AS description,
        list(DISTINCT country ORDER BY country) AS places, ['AF-MACRO'] AS datasets,
        [indicator] AS identifiers
    FROM macro_annual
    WHERE latest
    GROUP BY indicator
),

panels AS (
    SELECT
        'panel' AS kind, signal_key AS id, coalesce(any_value(titles.title), signal_key) AS name,
        CAST(NULL AS VARCHAR) AS description,
        list(DISTINCT country ORDER BY country) AS places, ['{{ signal_set }}'] AS datasets,
        [signal_key] AS identifiers
    FROM signals
    LEFT JOIN (VALUES {{ titles }}) AS titles (panel, title) ON titles.panel = signals.signal_key
    GROUP BY signal_key
),

unresolved_parties AS (
    -- one row for a name in a country and role, under the id of the party with most releases
    SELECT
        role AS kind, arg_min(party_id, (-releases, party_id)) AS id, name,
        CAST(NULL AS VARCHAR) AS description, [country] AS places, ['AF-TENDER'] AS datasets,
        CAST([] AS VARCHAR[]) AS identifiers
    FROM named_parties
    WHERE service_id IS NULL
    GROUP BY role, country, name
),

everything AS (
    SELECT
        * EXCLUDE (unordered_names, tickers), list_sort(unordered_names) AS other_names,
        list_sort(tickers) AS listings
    FROM organisations
    UNION ALL BY NAME
    SELECT * FROM series
    UNION ALL BY NAME
    SELECT * FROM indicators
    UNION ALL BY NAME
    SELECT * FROM panels
    UNION ALL BY NAME
    SELECT * FROM unresolved_parties
),

placed AS (
    -- both codes of each country, and its name
    SELECT
        kind, id, string_agg(concat(country, ' ', country_iso3), ' ' ORDER BY country) AS codes,
        string_agg(name, ' ' ORDER BY country) AS country_names
    FROM (SELECT DISTINCT kind, id, unnest(places) AS country FROM everything)
    JOIN countries USING (country)
    GROUP BY kind, id
)

SELECT
    everything.kind, everything.id, everything.name,
    coalesce(everything.other_names, []) AS other_names, everything.description,
    CASE WHEN len(everything.places) = 1 THEN everything.places[1] END AS country,
    everything.jurisdiction, coalesce(everything.listings, []) AS listings, everything.datasets,
    everything.identifiers,
    list_position(
        ['organisation', 'series', 'indicator', 'panel', 'buyer', 'supplier'], everything.kind
    ) AS place_of_kind,
    concat(' ', placed.codes, ' ') AS countries, placed.country_names
FROM everything
LEFT JOIN placed ON placed.kind = everything.kind AND placed.id = everything.id;
