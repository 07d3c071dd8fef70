-- The known state of each process and each award, as intervals between closings.
--
-- The releases known at a closing, each in the vintage of that day, are merged as OCDS prescribes:
-- for each member the newest release that states it counts, and awards are united by their id. A
-- state holds from known_from_closing until before known_until_closing, so a closing never sees a
-- release or a vintage that was published after it.
--
-- Inputs: tender_releases, tender_parties, party_matches, fundamentals, stated_awards;
--   at_closing, until_closing, month_number, countries
-- Outputs: vintage_id, ten_thousandths, if_possible, code_position (macros); parties, codes,
--   home_currencies, processes, release_vintages, named_parties, tenderers, states, award_vintages,
--   award_suppliers, awards, award_lines, awarded (tables); dates_of_awards (query)

-- name: vintage_id
-- 60 bits of the row id: enough to identify one vintage of a release, and faster to join on.
CREATE OR REPLACE TEMP MACRO vintage_id(row_id) AS
CAST(concat('0x', left(row_id, 15)) AS BIGINT);

-- name: ten_thousandths
-- Amounts are summed exactly, as whole ten-thousandths: the digits of a DECIMAL(38, 4). What is not
-- positive, or as large as {{ money_below }}, is no amount.
CREATE OR REPLACE TEMP MACRO ten_thousandths(amount) AS
CASE
    WHEN amount > 0 AND amount < {{ money_below }}
        THEN nullif(
            CAST(
                replace(CAST(CAST(amount AS DECIMAL(38, 4)) AS VARCHAR), '.', '') AS HUGEINT
            ),
            0
        )
END;

-- name: if_possible
-- A value that a release states with a number; null if that number cannot be.
CREATE OR REPLACE TEMP MACRO if_possible(value, implausible, member) AS
CASE WHEN NOT coalesce(list_contains(implausible, member), FALSE) THEN value END;

-- name: code_position
-- The position of a code in a list, from 1; 0 for any other code, null if there is none.
CREATE OR REPLACE TEMP MACRO code_position(codes, code) AS
CASE WHEN code IS NOT NULL THEN coalesce(list_position(codes, lower(code)), 0) END;

-- name: parties
-- Parties, numbered; one that any release leaves unestablished is withheld. It stays withheld if
-- another release establishes it as an organisation, since that evidence may be about someone else
-- with the same key. It is withheld from the rows of past days too.
CREATE TEMP TABLE parties AS
WITH mentions AS (
    SELECT source, party_key, org_evidence IS NULL OR name IS NULL AS withheld
    FROM tender_parties
    WHERE NOT withdrawn
    UNION ALL
    -- a buyer that is not among the parties was withheld when its release was parsed
    SELECT DISTINCT source, buyer_key, TRUE
    FROM tender_releases AS released
    WHERE
        buyer_key IS NOT NULL
        AND NOT EXISTS (
            SELECT 1
            FROM tender_parties AS party
            WHERE party.source = released.source AND party.party_key = released.buyer_key
        )
),

matched AS (
    -- a key that was resolved to several organisations is none of them
    SELECT source, party_key, min(service_id) AS service_id
    FROM party_matches
    GROUP BY ALL
    HAVING min(service_id) = max(service_id)
)

SELECT
    CAST(row_number() OVER (ORDER BY source, party_key) AS INTEGER) AS party_no,
    source, party_key, withheld, service_id
FROM (SELECT source, party_key, bool_or(withheld) AS withheld FROM mentions GROUP BY ALL)
LEFT JOIN matched USING (source, party_key);

-- name: codes
-- Categories and currencies, numbered: numbers are grouped and joined faster than texts.
CREATE TEMP TABLE codes AS
SELECT CAST(row_number() OVER (ORDER BY code) AS INTEGER) AS code_no, code
FROM (
    SELECT category AS code FROM tender_releases
    UNION
    SELECT tender_currency FROM tender_releases
    UNION
    SELECT currency FROM stated_awards
    UNION
    SELECT currency_reported FROM fundamentals WHERE line_item = 'revenue'
    UNION
    SELECT unnest(map_values($home_currency))
)
WHERE code IS NOT NULL;

-- name: home_currencies
-- The currency of the row that is written where a country states no amount.
CREATE TEMP TABLE home_currencies AS
SELECT country_no, code_no AS currency
FROM countries
LEFT JOIN codes ON codes.code = $home_currency[country];

-- name: processes
-- Any number will do: process_id is only joined on, and never served.
CREATE TEMP TABLE processes AS
SELECT CAST(row_number() OVER () AS INTEGER) AS process_id, source, ocid
FROM (SELECT DISTINCT source, ocid FROM tender_releases);

-- name: release_vintages
-- All vintages of releases that some closing saw, numbered in the order to merge. OCDS merges by
-- the date of a release; one without a date counts from its publication.
CREATE TEMP TABLE release_vintages AS
WITH usable AS (
    SELECT
        *, coalesce(released_on, available_at) AS stated_on,
        -- only a release with a tender section dates the tender
        regexp_matches(release, '"tender"\s*:\s*\{') AS has_tender
    FROM tender_releases
    -- a release without a date is known on no day
    WHERE NOT withdrawn AND available_at IS NOT NULL
),

ordered AS (
    SELECT
        -- the JSON itself is too large to carry on
        usable.* EXCLUDE (release), process_id, country_no, party_no AS buyer, closing_count,
        vintage_id(row_id) AS release_vintage_id,
        at_closing(available_at, first_month, closing_days) AS known_from_closing,
        until_closing(superseded_at, first_month, closing_days) AS known_until_closing,
        row_number() OVER (
            PARTITION BY process_id ORDER BY stated_on, available_at, publication, vintage
        ) AS merge_order
    FROM usable
    JOIN countries USING (country)
    JOIN processes USING (source, ocid)
    LEFT JOIN parties
        ON parties.source = usable.source AND parties.party_key = usable.buyer_key
)

SELECT
    release_vintage_id, process_id, country_no, known_from_closing, known_until_closing,
    merge_order, source, ocid, release_id, available_at, stated_on, buyer,
    CASE WHEN has_tender THEN stated_on END AS tender_on,
    category_code.code_no AS category,
    code_position($final_statuses, tender_status) AS status,
    code_position($methods, procurement_method) AS method,
    tender_start, tender_end, joint_bids,
    if_possible(number_of_tenderers, implausible, 'tender.numberOfTenderers')
        AS number_of_tenderers,
    if_possible(ten_thousandths(tender_value), implausible, 'tender.value.amount') AS units,
    currency_code.code_no AS currency
FROM ordered
LEFT JOIN codes AS category_code ON category_code.code = category
-- without its amount a currency says nothing
LEFT JOIN codes AS currency_code
    ON currency_code.code = if_possible(tender_currency, implausible, 'tender.value.amount')
-- a vintage that was superseded before the next closing was never seen by any
WHERE known_from_closing < known_until_closing AND known_from_closing < closing_count;

-- name: named_parties
-- The tenderers and suppliers of a release. A party counts in the vintage that was current on the
-- day of the release.
CREATE TEMP TABLE named_parties AS
SELECT DISTINCT release_vintage_id, role, party_no, withheld, name
FROM tender_parties AS mention
JOIN release_vintages USING (source, ocid, release_id)
JOIN parties USING (source, party_key)
WHERE
    role IN ('tenderer', 'supplier')
    AND NOT mention.withdrawn
    -- no look-ahead: a later vintage of the party was not known when the release came out
    AND mention.available_at <= release_vintages.available_at
    AND (
        mention.superseded_at IS NULL
        OR mention.superseded_at > release_vintages.available_at
    );

-- name: tenderers
-- How many tenderers a release lists.
CREATE TEMP TABLE tenderers AS
SELECT release_vintage_id, count(DISTINCT party_no) AS listed_tenderers
FROM named_parties
WHERE role = 'tenderer'
GROUP BY ALL;

-- name: states
-- Each process as merged from the releases known in an interval.
CREATE TEMP TABLE states AS
WITH stated AS (
    SELECT
        release_vintages.*,
        CASE WHEN units IS NOT NULL THEN concat(units, ' ', currency) END AS stated_value,
        -- a stated number of tenderers comes before the number of those listed, of whom a joint
        -- bid of several firms is one
        CASE
            WHEN number_of_tenderers > 0 THEN number_of_tenderers
            WHEN coalesce(joint_bids, listed_tenderers) <= {{ most_tenderers }}
                THEN coalesce(joint_bids, listed_tenderers)
        END AS tenderers
    FROM release_vintages
    LEFT JOIN tenderers USING (release_vintage_id)
),

changes AS (
    SELECT process_id, known_from_closing AS closing_no FROM release_vintages
    UNION
    SELECT process_id, known_until_closing FROM release_vintages
),

intervals AS (
    -- the spans between closings at which a release begins or ends to hold: nothing changes within
    SELECT process_id, closing_no, lead(closing_no, 1, $never) OVER by_closing AS until_closing
    FROM changes
    WINDOW by_closing AS (PARTITION BY process_id ORDER BY closing_no)
),

merged AS (
    SELECT
        process_id, closing_no AS known_from_closing,
        min(until_closing) AS known_until_closing, min(country_no) AS country_no,
        min(tender_on) AS tender_on,
        -- each member as the newest release that states it has it
        arg_max(buyer, merge_order) FILTER (buyer IS NOT NULL) AS buyer,
        arg_max(category, merge_order) FILTER (category IS NOT NULL) AS category,
        arg_max(status, merge_order) FILTER (status IS NOT NULL) AS status,
        arg_max(method, merge_order) FILTER (method IS NOT NULL) AS method,
        arg_max(tender_start, merge_order) FILTER (tender_start IS NOT NULL) AS tender_start,
        arg_max(tender_end, merge_order) FILTER (tender_end IS NOT NULL) AS tender_end,
        arg_max(tenderers, merge_order) FILTER (tenderers IS NOT NULL) AS tenderers,
        arg_max(units, merge_order) FILTER (units IS NOT NULL) AS units,
        arg_max(currency, merge_order) FILTER (currency IS NOT NULL) AS currency,
        -- a revision can only be observed in a process that states its value at least twice
        count(stated_value) > 1 AS valued_twice,
        min(stated_value) <> max(stated_value) AS revalued
    FROM intervals
    JOIN stated USING (process_id)
    WHERE stated.known_from_closing <= closing_no AND closing_no < stated.known_until_closing
    GROUP BY process_id, closing_no
)

SELECT merged.*, month_number(tender_on, first_month) AS month_no, closing_count
FROM merged
JOIN countries USING (country_no);

-- name: award_vintages
-- The awards of each of those releases; if two have the same id, only the first.
CREATE TEMP TABLE award_vintages AS
WITH first_of_id AS (
    SELECT
        vintage_id(row_id) AS release_vintage_id, award_id, awarded_on,
        lower(status) AS status, CAST(award.units AS HUGEINT) AS units,
        codes.code_no AS currency, supplier_names, process_id, country_no, known_from_closing,
        known_until_closing, merge_order, stated_on
    FROM stated_awards AS award
    JOIN (
        SELECT
            release_vintage_id, process_id, country_no, known_from_closing, known_until_closing,
            merge_order, stated_on
        FROM release_vintages
    ) AS released ON released.release_vintage_id = vintage_id(award.row_id)
    LEFT JOIN codes ON codes.code = award.currency
    WHERE award.is_first
)

SELECT *, count(*) OVER (PARTITION BY release_vintage_id) AS awards_in_release
FROM first_of_id;

-- name: award_suppliers
-- The suppliers of each award of a release. A release names a withheld supplier without its award.
-- If it has one award, that is it. If it has several, those that name no supplier belong to the
-- withheld one if there is only one, and to no supplier if there are more.
CREATE TEMP TABLE award_suppliers AS
WITH suppliers AS (
    SELECT release_vintage_id, party_no, withheld, name
    FROM named_parties
    WHERE role = 'supplier'
),

only_withheld AS (
    SELECT release_vintage_id, min(party_no) AS party_no
    FROM suppliers
    WHERE withheld
    GROUP BY release_vintage_id
    HAVING count(DISTINCT party_no) = 1
),

assigned AS (
    -- the only award of a release has all its suppliers
    SELECT release_vintage_id, award_id, party_no
    FROM award_vintages
    JOIN suppliers USING (release_vintage_id)
    WHERE awards_in_release = 1
    UNION
    -- one of several awards has the suppliers it names
    SELECT award.release_vintage_id, award_id, party_no
    FROM (
        SELECT release_vintage_id, award_id, unnest(supplier_names) AS name
        FROM award_vintages
        WHERE awards_in_release > 1
    ) AS award
    JOIN suppliers
        ON suppliers.release_vintage_id = award.release_vintage_id
        -- by name, the only thing the JSON of an award says of its suppliers
        AND coalesce(suppliers.name, '') = coalesce(award.name, '')
    UNION
    -- or, if it names none, the only withheld supplier
    SELECT release_vintage_id, award_id, party_no
    FROM award_vintages
    JOIN only_withheld USING (release_vintage_id)
    WHERE awards_in_release > 1 AND len(supplier_names) = 0
)

SELECT release_vintage_id, award_id, list(party_no ORDER BY party_no) AS suppliers
FROM assigned
GROUP BY ALL;

-- name: awards
-- The states of each award, with its suppliers.
CREATE TEMP TABLE awards AS
WITH stated AS (
    SELECT
        process_id, award_id, known_from_closing, known_until_closing, merge_order, stated_on,
        awarded_on, status, units, currency, suppliers
    FROM award_vintages
    LEFT JOIN award_suppliers USING (release_vintage_id, award_id)
),

changes AS (
    SELECT process_id, award_id, known_from_closing AS closing_no FROM award_vintages
    UNION
    SELECT process_id, award_id, known_until_closing FROM award_vintages
),

intervals AS (
    -- the spans between closings at which a statement of the award begins or ends to hold
    SELECT
        process_id, award_id, closing_no,
        lead(closing_no, 1, $never) OVER by_closing AS until_closing
    FROM changes
    WINDOW by_closing AS (PARTITION BY process_id, award_id ORDER BY closing_no)
)

SELECT
    process_id, award_id, closing_no AS known_from_closing,
    min(until_closing) AS known_until_closing, min(stated_on) AS stated_on,
    arg_max(awarded_on, merge_order) FILTER (awarded_on IS NOT NULL) AS awarded_on,
    arg_max(status, merge_order) FILTER (status IS NOT NULL) AS status,
    arg_max(units, merge_order) FILTER (units IS NOT NULL) AS units,
    arg_max(currency, merge_order) FILTER (currency IS NOT NULL) AS currency,
    arg_max(suppliers, merge_order) FILTER (suppliers IS NOT NULL) AS suppliers
FROM intervals
JOIN stated USING (process_id, award_id)
WHERE stated.known_from_closing <= closing_no AND closing_no < stated.known_until_closing
GROUP BY process_id, award_id, closing_no;

-- name: award_lines
-- Active awards with their process. A line holds while both the state of the award and that of the
-- process do.
CREATE TEMP TABLE award_lines AS
SELECT
    awards.process_id, states.country_no, award_id, countries.closing_count, awarded_on,
    awards.units, awards.currency, suppliers,
    greatest(awards.known_from_closing, states.known_from_closing) AS known_from_closing,
    least(awards.known_until_closing, states.known_until_closing) AS known_until_closing,
    coalesce(awarded_on, stated_on) AS award_day,
    month_number(coalesce(awarded_on, stated_on), first_month) AS award_month_no,
    buyer, category, tender_end, states.units AS tender_units, states.currency AS tender_currency
FROM awards
JOIN states
    ON states.process_id = awards.process_id
    AND awards.known_from_closing < states.known_until_closing
    AND states.known_from_closing < awards.known_until_closing
JOIN countries ON countries.country_no = states.country_no
WHERE
    -- a pending or cancelled award gives no supplier anything
    (awards.status IS NULL OR awards.status = 'active')
    -- of awards before the country's first release only some are known
    AND coalesce(awarded_on, stated_on) >= first_month;

-- name: awarded
-- Processes with an active award, as known in an interval.
CREATE TEMP TABLE awarded AS
WITH changes AS (
    SELECT process_id, known_from_closing AS closing_no FROM award_lines
    UNION
    SELECT process_id, known_until_closing FROM award_lines
),

intervals AS (
    SELECT process_id, closing_no, lead(closing_no, 1, $never) OVER by_closing AS until_closing
    FROM changes
    WINDOW by_closing AS (PARTITION BY process_id ORDER BY closing_no)
)

SELECT
    process_id, closing_no AS known_from_closing, min(until_closing) AS known_until_closing,
    min(country_no) AS country_no, min(closing_count) AS closing_count,
    min(award_month_no) AS month_no,
    any_value(category) AS category, min(awarded_on) AS first_awarded_on,
    any_value(tender_end) AS tender_end,
    -- a total only if every award has an amount in the currency of the estimate
    CASE
        WHEN
            bool_and(
                coalesce(award_lines.units IS NOT NULL AND currency = tender_currency, FALSE)
            )
            THEN sum(award_lines.units)
    END AS units,
    any_value(tender_units) AS tender_units, any_value(tender_currency) AS currency
FROM intervals
JOIN award_lines USING (process_id)
WHERE
    award_lines.known_from_closing <= closing_no
    AND closing_no < award_lines.known_until_closing
GROUP BY process_id, closing_no;
