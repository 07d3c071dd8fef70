-- Awards to newcomers: suppliers that had none in the months before.
--
-- Withheld suppliers count too, under their hashed key, so that shares stay exact.
--
-- Inputs: raw, award_lines, parties, own_sums, late_changes
-- Outputs: rows of raw (the measure of supplier-newcomer-rate)

-- name: wins
-- One row per award and supplier.
CREATE OR REPLACE TEMP TABLE wins AS
SELECT
    country_no,
    CAST(award_month_no AS INTEGER) AS month_no,
    known_from_closing,
    known_until_closing,
    closing_count, unnest(suppliers) AS supplier
FROM award_lines
WHERE len(suppliers) > 0 AND award_month_no >= 0;

-- name: own_changes
-- By how much a supplier's awards of a month change at a closing at which the month is evaluated.
CREATE OR REPLACE TEMP TABLE own_changes AS
WITH pieces AS (
    SELECT
        country_no, supplier, month_no, greatest(known_from_closing, month_no) AS from_closing,
        least(known_until_closing, month_no + $evaluations, closing_count) AS until_closing,
        least(month_no + $evaluations, closing_count) AS last_closing, count(*) AS awards
    FROM wins
    GROUP BY ALL
    HAVING from_closing < until_closing
),

steps AS (
    SELECT country_no, supplier, month_no, from_closing AS closing_no, awards FROM pieces
    UNION ALL
    SELECT country_no, supplier, month_no, until_closing, -awards
    FROM pieces
    WHERE until_closing < last_closing
)

SELECT
    country_no, supplier, month_no, CAST(closing_no AS INTEGER) AS closing_no,
    CAST(sum(awards) AS BIGINT) AS own_awards
FROM steps
GROUP BY country_no, supplier, month_no, closing_no;

-- name: supplier_states
-- Per supplier, month and closing that changes either: its awards of the month, and how many of the
-- months before had one.
CREATE OR REPLACE TEMP TABLE supplier_states AS
WITH months_won AS (
    -- when it is known that a supplier has an award in a month
    SELECT
        country_no, supplier, month_no AS won_month_no,
        min(known_from_closing) AS known_from_closing, known_until_closing
    FROM wins
    GROUP BY country_no, supplier, won_month_no, known_until_closing
),

earlier AS (
    -- its months with an award within the months before, while that is known. No look-ahead: an
    -- earlier award that was published late makes a newcomer only until it is known
    SELECT
        own.country_no, own.supplier, month_no,
        greatest(known_from_closing, month_no) AS closing_no, known_until_closing, closing_count
    FROM (SELECT DISTINCT country_no, supplier, month_no FROM own_changes) AS own
    JOIN months_won
        ON months_won.country_no = own.country_no AND months_won.supplier = own.supplier
        AND months_won.won_month_no BETWEEN month_no - $new_after AND month_no - 1
    JOIN (SELECT country_no, closing_count FROM countries) AS ends
        ON ends.country_no = own.country_no
    WHERE
        greatest(known_from_closing, month_no)
        < least(known_until_closing, month_no + $evaluations, closing_count)
),

steps AS (
    SELECT country_no, supplier, month_no, closing_no, own_awards, 0 AS earlier_months
    FROM own_changes
    UNION ALL
    SELECT country_no, supplier, month_no, closing_no, 0, 1 FROM earlier
    UNION ALL
    SELECT country_no, supplier, month_no, known_until_closing, 0, -1
    FROM earlier
    WHERE known_until_closing < least(month_no + $evaluations, closing_count)
),

per_closing AS (
    SELECT
        country_no, supplier, month_no, closing_no, sum(own_awards) AS own_awards,
        sum(earlier_months) AS earlier_months
    FROM steps
    GROUP BY country_no, supplier, month_no, closing_no
),

keyed AS (
    SELECT country_no, supplier, month_no, count(*) AS closings
    FROM per_closing
    GROUP BY country_no, supplier, month_no
)

-- most have one closing: a window over these would cost more than all the rest
SELECT
    country_no, supplier, month_no, closing_no, own_awards, earlier_months, 0 AS awards_before,
    0 AS newcomer_before
FROM per_closing
SEMI JOIN (FROM keyed WHERE closings = 1) AS single USING (country_no, supplier, month_no)
UNION ALL
SELECT
    country_no, supplier, month_no, closing_no, own_awards, earlier_months,
    coalesce(lag(own_awards) OVER in_order, 0),
    coalesce(lag(CASE WHEN earlier_months = 0 THEN own_awards ELSE 0 END) OVER in_order, 0)
FROM (
    SELECT
        country_no, supplier, month_no, closing_no, sum(own_awards) OVER so_far AS own_awards,
        sum(earlier_months) OVER so_far AS earlier_months
    FROM per_closing
    SEMI JOIN (FROM keyed WHERE closings > 1) AS several USING (country_no, supplier, month_no)
    WINDOW so_far AS (PARTITION BY country_no, supplier, month_no ORDER BY closing_no)
) AS running
WINDOW in_order AS (PARTITION BY country_no, supplier, month_no ORDER BY closing_no);

-- name: add_newcomers
-- No value before $new_after months of a country are known: until then everyone looks new. And no
-- row before the first award of the month is known.
INSERT INTO raw BY NAME
WITH steps AS (
    -- all awards of a supplier count, and as a newcomer's while no earlier month is known
    SELECT
        country_no, month_no, closing_no, sum(own_awards - awards_before) AS denominator,
        sum(CASE WHEN earlier_months = 0 THEN own_awards ELSE 0 END - newcomer_before) AS term1,
        0 AS n_eligible, 0 AS n_observed,
        sum(CAST(own_awards > 0 AS INTEGER) - CAST(awards_before > 0 AS INTEGER))
        FILTER (parties.withheld) AS n_withheld
    FROM supplier_states
    JOIN parties ON party_no = supplier
    GROUP BY ALL
    UNION ALL
    SELECT
        country_no, CAST(unnest(range(from_month, until_month)) AS INTEGER) AS month_no,
        month_no AS closing_no, 0, 0, awarded, supplied, 0
    FROM own_sums
    WHERE scope = 0 AND currency = 0 AND awarded > 0
    UNION ALL
    SELECT country_no, month_no, closing_no, 0, 0, awarded, supplied, 0
    FROM late_changes
    WHERE scope = 0 AND currency = 0 AND (awarded <> 0 OR supplied <> 0)
),

running AS (
    SELECT
        country_no, month_no, closing_no,
        sum(sum(n_eligible)) OVER so_far AS n_eligible,
        sum(sum(n_observed)) OVER so_far AS n_observed,
        sum(sum(n_withheld)) OVER so_far AS n_withheld,
        sum(sum(term1)) OVER so_far AS term1,
        sum(sum(denominator)) OVER so_far AS denominator
    FROM steps
    GROUP BY country_no, month_no, closing_no
    WINDOW so_far AS (PARTITION BY country_no, month_no ORDER BY closing_no)
)

SELECT
    'supplier-newcomer-rate' AS panel, 'newcomer_award_share' AS measure, country_no, month_no,
    'all' AS dimension, 'all' AS dimension_value, closing_no, 'ratio' AS kind, term1, 0 AS term2,
    0 AS term3, CASE WHEN month_no >= $new_after THEN denominator ELSE 0 END AS denominator,
    n_eligible, n_observed, coalesce(n_withheld, 0) AS n_withheld, FALSE AS is_only
FROM running
QUALIFY max(n_eligible) OVER (PARTITION BY country_no, month_no ORDER BY closing_no) > 0;
