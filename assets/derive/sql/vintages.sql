-- From measures to the rows that are served: one vintage per closing that changed a row.
--
-- Python divides, each distinct division once: most rows repeat that of another row or closing.
--
-- Inputs: raw, closings, closing_sources, codes, parties
-- Outputs: in_units (macro); divisions, quotients, valued, coverages, dimension_texts, vintages,
--   provenances (tables); operands, pairs (queries); the rows of signals

-- name: in_units
-- A part of a fraction as it is served: amounts are summed in ten-thousandths. Exact; null if a
-- number has no place in the column.
CREATE OR REPLACE TEMP MACRO in_units(part, currency) AS
TRY_CAST(
    TRY_CAST(part AS DECIMAL(33, 0)) * CASE WHEN currency IS NULL THEN 1.0000 ELSE 0.0001 END
    AS DECIMAL(38, 18)
);

-- name: divisions
-- Each distinct division.
CREATE TEMP TABLE divisions AS
SELECT row_number() OVER () AS division_no, kind, term1, term2, term3, denominator
FROM (
    SELECT DISTINCT kind, term1, term2, term3, denominator
    FROM raw
    WHERE denominator > 0 AND n_observed > 0
);

-- name: operands
-- The same for Python, which knows no ENUM of DuckDB.
SELECT division_no, CAST(kind AS VARCHAR) AS kind, term1, term2, term3, denominator
FROM divisions;

-- name: quotients
-- Each division with its value.
CREATE TEMP TABLE quotients AS
SELECT kind, term1, term2, term3, denominator, value
FROM divisions
JOIN divided USING (division_no);

-- name: valued
-- Every row with its value. A row without a value has observed nothing. Joined on the operands:
-- equal divisions were computed once for all rows that have them.
CREATE TEMP TABLE valued AS
SELECT
    raw.panel, raw.country_no, raw.month_no, raw.dimension, raw.dimension_value, raw.party_no,
    raw.measure, raw.currency, raw.closing_no, raw.is_only, quotients.value,
    -- only a ratio of sums over processes or awards can be added up with others
    CASE WHEN raw.kind = 'ratio' AND quotients.value IS NOT NULL THEN raw.term1 END AS numerator,
    CASE WHEN raw.kind = 'ratio' AND quotients.value IS NOT NULL THEN raw.denominator END
        AS denominator,
    raw.n_eligible,
    CASE WHEN quotients.value IS NULL THEN 0 ELSE raw.n_observed END AS n_observed, raw.n_withheld
FROM raw
LEFT JOIN quotients
    ON raw.n_observed > 0 AND quotients.denominator = raw.denominator
    AND quotients.kind = raw.kind AND quotients.term1 = raw.term1
    AND quotients.term2 = raw.term2 AND quotients.term3 = raw.term3;

-- name: pairs
-- Each distinct pair of counts, of which Python makes the coverage.
SELECT DISTINCT n_observed, n_eligible
FROM valued
WHERE n_eligible > 0;

-- name: coverages
-- The share of each of them.
CREATE TEMP TABLE coverages AS
SELECT n_observed, n_eligible, coverage
FROM shares;

-- name: vintages
-- A closing that changes nothing is no vintage. An amount may change and its share stay the same.
CREATE TEMP TABLE vintages AS
WITH compared AS (
    SELECT
        *, (value, numerator, denominator, n_eligible, n_observed, n_withheld) AS numbers,
        lag((value, numerator, denominator, n_eligible, n_observed, n_withheld)) OVER in_order
            AS numbers_before,
        row_number() OVER in_order = 1 AS is_first
    FROM valued
    WHERE NOT is_only
    WINDOW in_order AS (
        PARTITION BY
            panel, country_no, month_no, dimension, dimension_value, party_no, measure, currency
        ORDER BY closing_no
    )
)

SELECT
    panel, country_no, month_no, dimension, dimension_value, party_no, measure, currency,
    closing_no, value, numerator, denominator, n_eligible, n_observed, n_withheld,
    CAST(row_number() OVER in_order AS INTEGER) AS vintage,
    lead(closing_no) OVER in_order AS next_closing
FROM compared
WHERE is_first OR numbers IS DISTINCT FROM numbers_before
WINDOW
    in_order AS (
        PARTITION BY
            panel, country_no, month_no, dimension, dimension_value, party_no, measure, currency
        ORDER BY closing_no
    )
UNION ALL
-- most rows have a single closing: there is nothing to compare them with
SELECT
    panel, country_no, month_no, dimension, dimension_value, party_no, measure, currency,
    closing_no, value, numerator, denominator, n_eligible, n_observed, n_withheld, 1, NULL
FROM valued
WHERE is_only;

-- name: dimension_texts
-- Codes and parties were numbered for speed: the text that is served, in its order.
CREATE TEMP TABLE dimension_texts AS
SELECT
    *, CAST(row_number() OVER (PARTITION BY dimension ORDER BY served_value) AS INTEGER) AS place
FROM (
    SELECT
        dimension, dimension_value, party_no,
        CASE dimension
            WHEN 'buyer' THEN concat(parties.source, '/', parties.party_key)
            WHEN 'category' THEN codes.code
            ELSE dimension_value
        END AS served_value,
        CASE WHEN dimension = 'issuer' THEN dimension_value ELSE parties.service_id END
            AS service_id
    FROM (SELECT DISTINCT dimension, dimension_value, party_no FROM vintages) AS used
    LEFT JOIN parties USING (party_no)
    LEFT JOIN codes
        ON used.dimension = 'category' AND codes.code_no = TRY_CAST(used.dimension_value AS INTEGER)
) AS texts;

-- name: provenances
-- What all rows of a panel, month, closing and vintage share: the month, when it was known,
-- and one provenance for all that came from the same sources.
CREATE TEMP TABLE provenances AS
WITH used AS (
    SELECT DISTINCT panel, country_no, month_no, closing_no, vintage FROM vintages
),

sourced AS (
    SELECT
        used.panel, used.country_no, used.month_no, used.closing_no, used.vintage, own.country,
        own.month, own.closed_at, evaluated.closed_at AS available_at,
        concat($signal_set, '/', used.panel) AS methodology_ref,
        list_extract($licences, closing_sources.licence_rank) AS license_class,
        -- the sources of the releases, their dataset in the manifest, and the day of the closing;
        -- the measure of listed issuers also uses their revenue
        concat(
            closing_sources.sources, ' (AF-TENDER releases',
            CASE WHEN used.panel = 'listed-award-intensity' THEN ' and AF-FUND revenue' ELSE '' END,
            ' known on ', evaluated.closed_at, ')'
        ) AS source_ref,
        closing_sources.observed_at, closing_sources.method, closing_sources.extraction_confidence
    FROM used
    -- the closing of the month itself, and the one at which this vintage was evaluated
    JOIN closings AS own
        ON own.country_no = used.country_no AND own.closing_no = used.month_no
    JOIN closings AS evaluated
        ON evaluated.country_no = used.country_no AND evaluated.closing_no = used.closing_no
    JOIN closing_sources
        ON closing_sources.country_no = used.country_no
        AND closing_sources.closing_no = used.closing_no
)

SELECT
    *, md5(concat_ws('#', panel, country, month, vintage, source_ref)) AS provenance_id
FROM sourced;

-- name: signals
-- In the order in which rows are served.
SELECT
    CAST(vintages.panel AS VARCHAR) AS signal_key, provenances.country, provenances.month,
    provenances.closed_at, CAST(vintages.dimension AS VARCHAR) AS dimension,
    coalesce(party_text.served_value, value_text.served_value) AS dimension_value,
    coalesce(party_text.service_id, value_text.service_id) AS service_id,
    CAST(vintages.measure AS VARCHAR) AS measure,
    vintages.value, in_units(vintages.numerator, vintages.currency) AS numerator,
    in_units(vintages.denominator, vintages.currency) AS denominator,
    units.unit,
    codes.code AS currency,
    vintages.n_eligible, vintages.n_observed, coverages.coverage, vintages.n_withheld,
    CAST(vintages.vintage AS BIGINT) AS vintage, provenances.available_at,
    next.closed_at AS superseded_at, provenances.methodology_ref, provenances.license_class,
    provenances.source_ref, provenances.observed_at, provenances.method,
    provenances.extraction_confidence, provenances.provenance_id
FROM vintages
JOIN provenances USING (panel, country_no, month_no, closing_no, vintage)
JOIN
    (SELECT unnest($units::STRUCT(panel VARCHAR, measure VARCHAR, unit VARCHAR)[], max_depth := 2)
    ) AS units
    ON CAST(units.panel AS {{ panels }}) = vintages.panel
    AND CAST(units.measure AS {{ measures }}) = vintages.measure
LEFT JOIN closings AS next
    ON next.country_no = vintages.country_no AND next.closing_no = vintages.next_closing
LEFT JOIN coverages
    ON coverages.n_observed = vintages.n_observed AND coverages.n_eligible = vintages.n_eligible
LEFT JOIN codes ON codes.code_no = vintages.currency
LEFT JOIN (FROM dimension_texts WHERE party_no IS NOT NULL) AS party_text
    ON party_text.dimension = vintages.dimension AND party_text.party_no = vintages.party_no
LEFT JOIN (FROM dimension_texts WHERE party_no IS NULL) AS value_text
    ON value_text.dimension = vintages.dimension
    AND value_text.dimension_value = vintages.dimension_value
ORDER BY
    vintages.panel, vintages.country_no, vintages.month_no, vintages.dimension,
    coalesce(party_text.place, value_text.place), vintages.measure, vintages.currency,
    vintages.vintage;
