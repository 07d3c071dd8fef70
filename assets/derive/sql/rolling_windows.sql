-- Sums over rolling windows of months, as events: what enters and leaves them, not every month.
--
-- An award counts in the window of its own month and of the following ones. Nearly everything about
-- a month is known when it closes: what is known at each month's own closing is kept as segments of
-- months in which a total stays the same, and only what became known or ended later has rows of its
-- own. Scope 0 is the whole country, any other number the buyer; currency 0 is all currencies.
--
-- Kinds of pieces, each summed or counted over its entities:
--   1 the amounts of a supplier            5 processes whose buyer is known
--   2 processes with a known amount        6 processes whose buyer may be named
--   3 processes with an award              7 buyers that are withheld
--   4 suppliers that are withheld          8, 9 as 3 and with a supplier, of the month alone
--
-- Inputs: award_lines, parties
-- Outputs: own_sums (at a month's own closing, where they change), segments (of entities),
--   late_totals (of entities), late_changes (of sums)

-- name: squares
-- A square of a large sum does not fit into 128 bits: it is summed as three products of the halves
-- of its base. (a * half + b)² = a² * half² + 2ab * half + b².
CREATE OR REPLACE TEMP MACRO square_high(total) AS
(total // 100000000000) * (total // 100000000000);

-- name: square_middle
CREATE OR REPLACE TEMP MACRO square_middle(total) AS
(total // 100000000000) * (total % 100000000000);

-- name: square_low
CREATE OR REPLACE TEMP MACRO square_low(total) AS
(total % 100000000000) * (total % 100000000000);

-- name: pieces
-- What each award adds, to which entity of which scope, over how many months.
CREATE OR REPLACE TEMP TABLE pieces AS
WITH lines AS (
    SELECT
        process_id, line.country_no, award_month_no, known_from_closing, known_until_closing,
        closing_count, units, suppliers, coalesce(buyer, 0) AS buyer,
        coalesce(line.currency, 0) AS currency, parties.withheld AS is_withheld,
        -- only an award with one supplier says what that supplier gets
        len(suppliers) = 1 AND units IS NOT NULL AND line.currency IS NOT NULL AS is_sale
    FROM award_lines AS line
    LEFT JOIN parties ON parties.party_no = line.buyer
    WHERE award_month_no >= 0
),

scoped AS (
    -- a withheld buyer may be a person. It gets no row of its own: its shares would describe it
    SELECT
        *, CAST(unnest(CASE WHEN NOT is_withheld THEN [0, buyer] ELSE [0] END) AS INTEGER) AS scope
    FROM lines
),

supplied AS (
    SELECT
        country_no, scope, award_month_no, known_from_closing, known_until_closing, closing_count,
        unnest(suppliers) AS party_no
    FROM scoped
),

kinds AS (
    SELECT
        1 AS kind, $trailing AS months, scope, currency, suppliers[1] AS entity, units AS amount,
        country_no, award_month_no, known_from_closing, known_until_closing, closing_count
    FROM scoped WHERE is_sale
    UNION ALL
    SELECT
        2, $trailing, scope, currency, process_id, 1,
        country_no, award_month_no, known_from_closing, known_until_closing, closing_count
    FROM scoped WHERE is_sale
    UNION ALL
    SELECT
        3, $trailing, scope, 0, process_id, 1,
        country_no, award_month_no, known_from_closing, known_until_closing, closing_count
    FROM scoped
    UNION ALL
    SELECT
        4, $trailing, scope, 0, party_no, 1,
        country_no, award_month_no, known_from_closing, known_until_closing, closing_count
    FROM supplied
    SEMI JOIN (SELECT party_no FROM parties WHERE withheld) AS hidden USING (party_no)
    UNION ALL
    SELECT
        5, $trailing, 0, 0, process_id, 1,
        country_no, award_month_no, known_from_closing, known_until_closing, closing_count
    FROM lines WHERE is_withheld IS NOT NULL
    UNION ALL
    SELECT
        6, $trailing, 0, 0, process_id, 1,
        country_no, award_month_no, known_from_closing, known_until_closing, closing_count
    FROM lines WHERE NOT is_withheld
    UNION ALL
    SELECT
        7, $trailing, 0, 0, buyer, 1,
        country_no, award_month_no, known_from_closing, known_until_closing, closing_count
    FROM lines WHERE is_withheld
    UNION ALL
    SELECT
        8, 1, 0, 0, process_id, 1,
        country_no, award_month_no, known_from_closing, known_until_closing, closing_count
    FROM lines
    UNION ALL
    SELECT
        9, 1, 0, 0, process_id, 1,
        country_no, award_month_no, known_from_closing, known_until_closing, closing_count
    FROM lines WHERE len(suppliers) > 0
)

SELECT
    CAST(kind AS TINYINT) AS kind, country_no, scope, CAST(currency AS INTEGER) AS currency,
    CAST(entity AS INTEGER) AS entity, CAST(amount AS HUGEINT) AS amount,
    CAST(award_month_no AS INTEGER) AS award_month_no,
    CAST(known_from_closing AS INTEGER) AS known_from_closing,
    CAST(known_until_closing AS INTEGER) AS known_until_closing, closing_count,
    -- the end of the months in whose windows the award is
    CAST(least(award_month_no + months, closing_count) AS INTEGER) AS months_end
FROM kinds;

-- name: segments
-- Per entity, the months over which its total at their own closing stays the same and positive.
CREATE OR REPLACE TEMP TABLE segments AS
WITH entering AS (
    -- a piece is in the windows of the months that close while it is known
    SELECT
        kind, country_no, scope, currency, entity, amount,
        greatest(award_month_no, known_from_closing) AS from_month,
        least(months_end, known_until_closing) AS until_month
    FROM pieces
    WHERE greatest(award_month_no, known_from_closing) < least(months_end, known_until_closing)
),

keyed AS (
    -- most entities have a single piece: theirs are segments as they are
    SELECT
        kind, country_no, scope, currency, entity, count(*) AS piece_count,
        min(from_month) AS from_month, min(until_month) AS until_month, min(amount) AS total
    FROM entering
    GROUP BY kind, country_no, scope, currency, entity
),

several AS (
    SELECT entering.*
    FROM entering
    SEMI JOIN (FROM keyed WHERE piece_count > 1) AS shared
        USING (kind, country_no, scope, currency, entity)
),

changes AS (
    SELECT kind, country_no, scope, currency, entity, month_no, sum(amount) AS change
    FROM (
        SELECT kind, country_no, scope, currency, entity, from_month AS month_no, amount
        FROM several
        UNION ALL
        SELECT kind, country_no, scope, currency, entity, until_month, -amount FROM several
    ) AS moves
    GROUP BY kind, country_no, scope, currency, entity, month_no
    -- one piece follows another
    HAVING change <> 0
),

running AS (
    SELECT
        kind, country_no, scope, currency, entity, month_no AS from_month,
        lead(month_no) OVER in_order AS until_month,
        CAST(sum(change) OVER in_order AS HUGEINT) AS total
    FROM changes
    WINDOW in_order AS (PARTITION BY kind, country_no, scope, currency, entity ORDER BY month_no)
)

SELECT kind, country_no, scope, currency, entity, from_month, until_month, total
FROM keyed
WHERE piece_count = 1
UNION ALL
SELECT kind, country_no, scope, currency, entity, from_month, until_month, total
FROM running
WHERE total > 0;

-- name: own_sums
-- Per scope and currency, the sums over entities at a month's own closing, from each month in which
-- one changes until the next.
CREATE OR REPLACE TEMP TABLE own_sums AS
WITH squared AS (
    SELECT
        kind, country_no, scope, currency, from_month, until_month, total,
        CASE WHEN kind = 1 THEN square_high(total) END AS square_high,
        CASE WHEN kind = 1 THEN square_middle(total) END AS square_middle,
        CASE WHEN kind = 1 THEN square_low(total) END AS square_low
    FROM segments
),

moves AS (
    -- a segment adds its numbers where it begins and takes them back where it ends
    SELECT
        kind, country_no, scope, currency, from_month AS month_no, 1 AS present, total,
        square_high, square_middle, square_low
    FROM squared
    UNION ALL
    SELECT
        kind, country_no, scope, currency, until_month, -1, -total,
        -square_high, -square_middle, -square_low
    FROM squared
),

changes AS (
    SELECT
        country_no, scope, currency, month_no,
        sum(total) FILTER (kind = 1) AS total,
        sum(square_high) AS square_high,
        sum(square_middle) AS square_middle,
        sum(square_low) AS square_low,
        sum(present) FILTER (kind = 2) AS n_observed,
        sum(present) FILTER (kind = 3) AS n_eligible,
        sum(present) FILTER (kind = 4) AS n_withheld,
        sum(present) FILTER (kind = 5) AS bought,
        sum(present) FILTER (kind = 6) AS named,
        sum(present) FILTER (kind = 7) AS withheld_buyers,
        sum(present) FILTER (kind = 8) AS awarded,
        sum(present) FILTER (kind = 9) AS supplied
    FROM moves
    GROUP BY country_no, scope, currency, month_no
)

SELECT
    country_no, scope, currency, month_no AS from_month,
    lead(month_no) OVER in_order AS until_month,
    CAST(coalesce(sum(total) OVER in_order, 0) AS HUGEINT) AS total,
    CAST(coalesce(sum(square_high) OVER in_order, 0) AS HUGEINT) AS square_high,
    CAST(coalesce(sum(square_middle) OVER in_order, 0) AS HUGEINT) AS square_middle,
    CAST(coalesce(sum(square_low) OVER in_order, 0) AS HUGEINT) AS square_low,
    CAST(coalesce(sum(n_observed) OVER in_order, 0) AS BIGINT) AS n_observed,
    CAST(coalesce(sum(n_eligible) OVER in_order, 0) AS BIGINT) AS n_eligible,
    CAST(coalesce(sum(n_withheld) OVER in_order, 0) AS BIGINT) AS n_withheld,
    CAST(coalesce(sum(bought) OVER in_order, 0) AS BIGINT) AS bought,
    CAST(coalesce(sum(named) OVER in_order, 0) AS BIGINT) AS named,
    CAST(coalesce(sum(withheld_buyers) OVER in_order, 0) AS BIGINT) AS withheld_buyers,
    CAST(coalesce(sum(awarded) OVER in_order, 0) AS BIGINT) AS awarded,
    CAST(coalesce(sum(supplied) OVER in_order, 0) AS BIGINT) AS supplied
FROM changes
WINDOW in_order AS (PARTITION BY country_no, scope, currency ORDER BY month_no);

-- name: late_totals
-- Per entity, month and closing after the month's own: its total before and from that closing on.
CREATE OR REPLACE TEMP TABLE late_totals AS
WITH months AS (
    -- only awards that became known after their month closed, or no longer hold
    SELECT *, CAST(unnest(range(award_month_no, months_end)) AS INTEGER) AS month_no
    FROM pieces
    WHERE known_from_closing > award_month_no OR known_until_closing < closing_count
),

moves AS (
    -- each adds its amount when it becomes known ...
    SELECT
        kind,
        country_no,
        scope,
        currency,
        entity,
        month_no,
        known_from_closing AS closing_no,
        amount
    FROM months
    WHERE
        known_from_closing > month_no
        AND known_from_closing < least(known_until_closing, month_no + $evaluations, closing_count)
    UNION ALL
    -- ... and takes it back when it no longer holds
    SELECT kind, country_no, scope, currency, entity, month_no, known_until_closing, -amount
    FROM months
    WHERE
        known_until_closing > month_no
        AND known_until_closing < least(month_no + $evaluations, closing_count)
),

changes AS (
    SELECT
        kind, country_no, scope, currency, entity, month_no, closing_no,
        CAST(sum(amount) AS HUGEINT) AS change
    FROM moves
    GROUP BY kind, country_no, scope, currency, entity, month_no, closing_no
    HAVING change <> 0
),

based AS (
    SELECT changes.*, coalesce(segments.total, 0) AS own_total
    FROM changes
    LEFT JOIN segments
        ON segments.kind = changes.kind AND segments.country_no = changes.country_no
        AND segments.scope = changes.scope AND segments.currency = changes.currency
        AND segments.entity = changes.entity
        AND segments.from_month <= changes.month_no AND changes.month_no < segments.until_month
)

SELECT
    kind, country_no, scope, currency, entity, month_no, closing_no, total - change AS total_before,
    total, lead(closing_no, 1, $never) OVER in_order AS until_closing
FROM (
    SELECT *, CAST(own_total + sum(change) OVER so_far AS HUGEINT) AS total
    FROM based
    WINDOW so_far AS (
        PARTITION BY kind, country_no, scope, currency, entity, month_no ORDER BY closing_no
    )
) AS summed
WINDOW in_order AS (
    PARTITION BY kind, country_no, scope, currency, entity, month_no ORDER BY closing_no
);

-- name: late_changes
-- Per scope, currency, month and closing after the month's own: by how much the sums change.
CREATE OR REPLACE TEMP TABLE late_changes AS
WITH compared AS (
    SELECT
        kind, country_no, scope, currency, month_no, closing_no,
        total - total_before AS difference,
        CASE WHEN kind = 1 THEN square_high(total) - square_high(total_before) END AS square_high,
        CASE WHEN kind = 1 THEN square_middle(total) - square_middle(total_before) END
            AS square_middle,
        CASE WHEN kind = 1 THEN square_low(total) - square_low(total_before) END AS square_low,
        CAST(total > 0 AS INTEGER) - CAST(total_before > 0 AS INTEGER) AS present
    FROM late_totals
)

SELECT
    country_no, scope, currency, month_no, closing_no,
    coalesce(sum(difference) FILTER (kind = 1), 0) AS total,
    coalesce(sum(square_high), 0) AS square_high,
    coalesce(sum(square_middle), 0) AS square_middle,
    coalesce(sum(square_low), 0) AS square_low,
    coalesce(sum(present) FILTER (kind = 2), 0) AS n_observed,
    coalesce(sum(present) FILTER (kind = 3), 0) AS n_eligible,
    coalesce(sum(present) FILTER (kind = 4), 0) AS n_withheld,
    coalesce(sum(present) FILTER (kind = 5), 0) AS bought,
    coalesce(sum(present) FILTER (kind = 6), 0) AS named,
    coalesce(sum(present) FILTER (kind = 7), 0) AS withheld_buyers,
    coalesce(sum(present) FILTER (kind = 8), 0) AS awarded,
    coalesce(sum(present) FILTER (kind = 9), 0) AS supplied
FROM compared
GROUP BY country_no, scope, currency, month_no, closing_no;
