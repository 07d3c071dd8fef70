-- Numbers of releases that cannot be: typing errors of portals, mostly.
--
-- An amount is compared with those of its portal and currency that were known before the month in
-- which it became known. So what is published later never changes the mark of an earlier release.
-- DOUBLE is exact enough to tell what is a thousand times too large.
--
-- Inputs: the stored rows of releases (rows) and their vintages (vintages), as as_of.sql selects
--   them
-- Outputs: stated_amounts, all_amounts (queries); amount_limits (table); cannot_be,
--   impossible_amounts (macros); marked (query)

-- name: stated_amounts
-- The positive amounts of each portal and currency by month. An amount that a process repeats in
-- later releases is new only once; the month is listed all the same. In an order: the same rows
-- must be the same bytes.
WITH releases AS (
    SELECT
        source, ocid, date_trunc('month', available_at) AS month,
        { 'amount': CAST(tender_value AS DOUBLE), 'currency': tender_currency } AS tender,
        from_json(release, {{ members }}) AS stated
    FROM {{ rows }}
    WHERE NOT withdrawn AND available_at IS NOT NULL
),

amounts AS (
    SELECT
        source, ocid, month,
        unnest(list_concat(
            [tender],
            list_transform(stated.awards, LAMBDA award: award.value),
            list_transform(stated.contracts, LAMBDA contract: contract.value)
        )) AS money
    FROM releases
),

of_processes AS (
    SELECT DISTINCT
        source, ocid, coalesce(money.currency, '') AS currency, month, money.amount AS amount
    FROM amounts
    WHERE money.amount > 0 AND money.amount < {{ money_below }}
),

known AS (
    SELECT
        *, month = min(month) OVER (PARTITION BY source, ocid, currency, amount) AS is_new
    FROM of_processes
)

SELECT
    source, currency, CAST(month AS DATE) AS month,
    coalesce(list(amount ORDER BY amount) FILTER (WHERE is_new), []) AS amounts
FROM known
GROUP BY source, currency, month
ORDER BY source, currency, month;

-- name: all_amounts
-- The same of several partitions, which have no process in common.
SELECT source, currency, month, flatten(list(amounts)) AS amounts
FROM stated_amounts
GROUP BY source, currency, month
ORDER BY source, currency, month;

-- name: amount_limits
-- The largest amount that can be, by portal and month, for each currency.
CREATE OR REPLACE TEMP TABLE amount_limits AS
SELECT source, month, map_from_entries(list({ 'currency': currency, 'most': most })) AS limits
FROM largest_amounts
GROUP BY source, month;

-- name: cannot_be
-- Whether an amount cannot be; most is null where no limit is known.
CREATE OR REPLACE TEMP MACRO cannot_be(amount, most) AS
coalesce(amount <= 0 OR amount >= {{ money_below }} OR amount > most, FALSE);

-- name: impossible_amounts
-- The paths of the amounts of awards or contracts that cannot be; positions count from 0.
CREATE OR REPLACE TEMP MACRO impossible_amounts(name, members, limits) AS
list_transform(
    list_filter(
        range(len(members)),
        LAMBDA place: cannot_be(
            members[place + 1].value.amount,
            limits[coalesce(members[place + 1].value.currency, '')]
        )
    ),
    LAMBDA place: concat(name, '[', place, '].value.amount')
);

-- name: marked
-- Each vintage with the paths of its numbers that cannot be; null if there are none.
WITH stated AS (
    SELECT
        vintages.*, limits, from_json(release, {{ members }}) AS stated
    FROM ({{ vintages }}) AS vintages
    LEFT JOIN amount_limits
        ON amount_limits.source = vintages.source
        AND amount_limits.month = date_trunc('month', vintages.available_at)
)

SELECT
    * EXCLUDE (stated, limits),
    nullif(
        list_concat(
            -- a number in the release that the column has not is no count
            CASE
                WHEN
                    number_of_tenderers > {{ most_tenderers }}
                    OR (number_of_tenderers IS NULL AND stated.tender.numberoftenderers IS NOT NULL)
                    THEN ['tender.numberOfTenderers']
            END,
            CASE
                WHEN cannot_be(tender_value, limits[coalesce(tender_currency, '')])
                    THEN ['tender.value.amount']
            END,
            impossible_amounts('awards', stated.awards, limits),
            impossible_amounts('contracts', stated.contracts, limits)
        ),
        []
    ) AS implausible
FROM stated;
