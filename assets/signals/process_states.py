"""What was known of each process and each award, as intervals between closings.

The releases known at a closing, each in the vintage of that day, are merged as OCDS prescribes:
for each member the newest release that states it counts, and awards are united by their id. A
state holds from ``known_from_closing`` until before ``known_until_closing``, so a closing never
sees a release or a vintage that was published after it.
"""

from collections.abc import Mapping, Sequence

import duckdb

from assets.signals.awards import read_awards
from assets.signals.calendar import at_closing, closing_intervals, month_number, until_closing
from assets.tenders.portals import Portal
from warehouse.currencies import HOME_CURRENCY
from warehouse.methodology.signals import FINAL_STATUSES, METHODS, MONEY_BELOW

# 60 bits of the row id: enough to identify one vintage of a release, and faster to join on.
_RELEASE_VINTAGE_ID = "CAST(concat('0x', left(row_id, 15)) AS BIGINT)"
_USABLE = "NOT withdrawn AND available_at IS NOT NULL"
# OCDS merges by the date of a release; one without a date counts from its publication.
_STATED_ON = "coalesce(released_on, available_at)"


def create_states(sql: duckdb.DuckDBPyConnection, portals: Mapping[str, Portal]) -> None:
    """Create ``parties``, ``states`` of processes, ``award_lines`` and ``awarded`` processes."""
    _create_parties(sql)
    _create_codes(sql, portals)
    _create_release_vintages(sql)
    _create_named_parties(sql)
    _create_states(sql)
    _create_awards(sql)
    _create_award_lines(sql)


def _create_parties(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``parties``, numbered; one that any release leaves unestablished is withheld.

    It stays withheld if another release establishes it as an organisation, since that evidence may
    be about someone else with the same key. It is withheld from the rows of past days too.
    """
    sql.execute("""
CREATE TEMP TABLE parties AS
WITH mentions AS (
    SELECT source, party_key, org_evidence IS NULL OR name IS NULL AS withheld FROM tender_parties
    WHERE NOT withdrawn
    UNION ALL
    -- a buyer that is not among the parties was withheld when its release was parsed
    SELECT DISTINCT source, buyer_key, TRUE FROM tender_releases AS release
    WHERE buyer_key IS NOT NULL AND NOT EXISTS (
        FROM tender_parties AS party
        WHERE party.source = release.source AND party.party_key = release.buyer_key)
),
matched AS (
    -- a key that was resolved to several organisations is none of them
    SELECT source, party_key, min(service_id) AS service_id FROM party_matches
    GROUP BY ALL HAVING min(service_id) = max(service_id)
)
SELECT CAST(row_number() OVER (ORDER BY source, party_key) AS INTEGER) AS party_no,
    source, party_key, withheld, service_id
FROM (SELECT source, party_key, bool_or(withheld) AS withheld FROM mentions GROUP BY ALL)
LEFT JOIN matched USING (source, party_key)""")


def _create_codes(sql: duckdb.DuckDBPyConnection, portals: Mapping[str, Portal]) -> None:
    """Read the awards, and number categories and currencies as ``codes``.

    Numbers are grouped and joined faster than texts.
    """
    awards = read_awards(
        sql,
        f"""
SELECT {_RELEASE_VINTAGE_ID} AS release_vintage_id, source,
    CAST(observed_at AS DATE) AS observed_on, release
FROM tender_releases WHERE {_USABLE} AND contains(release, '"awards"')""",
        portals,
    )
    # Read in Python: DuckDB reads an amount in JSON as DOUBLE, which loses digits.
    sql.register("stated_awards", awards)
    home_codes = ", ".join(f"('{code}')" for code in dict.fromkeys(HOME_CURRENCY.values()))
    sql.execute(f"""
CREATE TEMP TABLE codes AS
SELECT CAST(row_number() OVER (ORDER BY code) AS INTEGER) AS code_no, code FROM (
    SELECT category AS code FROM tender_releases UNION SELECT tender_currency FROM tender_releases
    UNION SELECT currency FROM stated_awards
    UNION SELECT currency_reported FROM fundamentals WHERE line_item = 'revenue'
    UNION FROM (VALUES {home_codes})
) WHERE code IS NOT NULL""")
    # The currency of the row that is written where a country states no amount.
    homes = ", ".join(f"('{country}', '{code}')" for country, code in HOME_CURRENCY.items())
    sql.execute(f"""
CREATE TEMP TABLE home_currencies AS
SELECT country_no, code_no AS currency FROM countries
LEFT JOIN (VALUES {homes}) AS home(country, code) USING (country) LEFT JOIN codes USING (code)""")


def _create_release_vintages(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``release_vintages``: all that some closing saw, numbered in the order to merge."""
    sql.execute("""
CREATE TEMP TABLE processes AS
-- any number will do: process_id is only joined on, and never served
SELECT CAST(row_number() OVER () AS INTEGER) AS process_id, source, ocid
FROM (SELECT DISTINCT source, ocid FROM tender_releases)""")
    # Amounts are summed exactly, as whole ten-thousandths: the digits of a DECIMAL(38, 4).
    units = (
        "CAST(replace(CAST(CAST(tender_value AS DECIMAL(38, 4)) AS VARCHAR), '.', '') AS HUGEINT)"
    )
    sql.execute(f"""
CREATE TEMP TABLE release_vintages AS
WITH ordered AS (
    SELECT release.*, process_id, country_no, party_no AS buyer, closing_count,
        {_RELEASE_VINTAGE_ID} AS release_vintage_id,
        {_STATED_ON} AS stated_on,
        {at_closing("available_at")} AS known_from_closing,
        {until_closing("superseded_at")} AS known_until_closing,
        row_number() OVER (
            PARTITION BY process_id ORDER BY {_STATED_ON}, available_at, publication, vintage
        ) AS merge_order
    FROM (
        -- only a release with a tender section dates the tender; the JSON itself is too large to
        -- carry on
        SELECT * EXCLUDE (release), regexp_matches(release, '"tender"\\s*:\\s*\\{{') AS has_tender
        FROM tender_releases WHERE {_USABLE}
    ) AS release
    JOIN countries USING (country)
    JOIN processes USING (source, ocid)
    LEFT JOIN parties ON parties.source = release.source
        AND parties.party_key = release.buyer_key
)
SELECT release_vintage_id, process_id, country_no, known_from_closing, known_until_closing,
    merge_order, source, ocid, release_id, available_at, stated_on, buyer,
    CASE WHEN has_tender THEN stated_on END AS tender_on,
    category_code.code_no AS category, {_position(FINAL_STATUSES, "tender_status")} AS status,
    {_position(METHODS, "procurement_method")} AS method,
    tender_start, tender_end, number_of_tenderers, joint_bids,
    CASE WHEN tender_value > 0 AND tender_value < {MONEY_BELOW} THEN nullif({units}, 0) END
        AS units,
    currency_code.code_no AS currency
FROM ordered
LEFT JOIN codes AS category_code ON category_code.code = category
LEFT JOIN codes AS currency_code ON currency_code.code = tender_currency
-- a vintage that was superseded before the next closing was never seen by any
WHERE known_from_closing < known_until_closing AND known_from_closing < closing_count""")


def _position(codes: Sequence[str], column: str) -> str:
    """Return SQL for the position of a code in a list, from 1; 0 for any other code."""
    listed = ", ".join(f"'{code}'" for code in codes)
    return (
        f"CASE WHEN {column} IS NOT NULL THEN "
        f"coalesce(list_position([{listed}], lower({column})), 0) END"
    )


def _create_named_parties(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``named_parties``: the tenderers and suppliers of a release, and ``tenderers``.

    A party counts in the vintage that was current on the day of the release.
    """
    sql.execute("""
CREATE TEMP TABLE named_parties AS
SELECT DISTINCT release_vintage_id, role, party_no, withheld, name
FROM tender_parties AS mention
JOIN release_vintages USING (source, ocid, release_id)
JOIN parties USING (source, party_key)
WHERE role IN ('tenderer', 'supplier') AND NOT mention.withdrawn
  -- no look-ahead: a later vintage of the party was not known when the release came out
  AND mention.available_at <= release_vintages.available_at
  AND (mention.superseded_at IS NULL
       OR mention.superseded_at > release_vintages.available_at)""")
    sql.execute("""
CREATE TEMP TABLE tenderers AS
SELECT release_vintage_id, count(DISTINCT party_no) AS listed_tenderers
FROM named_parties WHERE role = 'tenderer' GROUP BY ALL""")


def _newest(columns: Sequence[str]) -> str:
    """Return SQL for each column's value in the newest release that states it."""
    return ", ".join(
        f"arg_max({column}, merge_order) FILTER ({column} IS NOT NULL) AS {column}"
        for column in columns
    )


def _create_states(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``states``: each process as merged from the releases known in an interval."""
    merged = _newest(
        (
            *("buyer", "category", "status", "method", "tender_start", "tender_end"),
            *("tenderers", "units", "currency"),
        )
    )
    sql.execute(f"""
CREATE TEMP TABLE states AS
WITH vintages AS (
    SELECT release_vintages.*,
        CASE WHEN units IS NOT NULL THEN concat(units, ' ', currency) END AS stated_value,
        -- a stated number of tenderers comes before the number of those listed, of whom a joint
        -- bid of several firms is one
        CASE WHEN number_of_tenderers > 0 THEN number_of_tenderers
            ELSE coalesce(joint_bids, listed_tenderers) END AS tenderers
    FROM release_vintages LEFT JOIN tenderers USING (release_vintage_id)
),
{closing_intervals("process_id", "release_vintages")},
merged AS (
    SELECT process_id, closing_no AS known_from_closing,
        min(until_closing) AS known_until_closing, min(country_no) AS country_no,
        min(tender_on) AS tender_on, {merged},
        -- a revision can only be observed in a process that states its value at least twice
        count(stated_value) > 1 AS valued_twice,
        min(stated_value) <> max(stated_value) AS revalued
    FROM intervals JOIN vintages USING (process_id)
    WHERE vintages.known_from_closing <= closing_no AND closing_no < vintages.known_until_closing
    GROUP BY process_id, closing_no
)
SELECT merged.*, {month_number("tender_on")} AS month_no, closing_count
FROM merged JOIN countries USING (country_no)""")


def _create_awards(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``awards``: the states of each award, with its suppliers."""
    sql.execute("""
CREATE TEMP TABLE award_vintages AS
SELECT award.* EXCLUDE (units, currency), CAST(units AS HUGEINT) AS units, code_no AS currency,
    process_id, country_no, known_from_closing, known_until_closing, merge_order, stated_on
FROM stated_awards AS award LEFT JOIN codes ON code = award.currency
JOIN (SELECT release_vintage_id, process_id, country_no, known_from_closing, known_until_closing,
          merge_order, stated_on FROM release_vintages) USING (release_vintage_id)""")
    sql.unregister("stated_awards")
    _create_award_suppliers(sql)
    merged = _newest(("awarded_on", "status", "units", "currency", "suppliers"))
    sql.execute(f"""
CREATE TEMP TABLE awards AS
WITH {closing_intervals("process_id, award_id", "award_vintages")}
SELECT process_id, award_id, closing_no AS known_from_closing,
    min(until_closing) AS known_until_closing, min(stated_on) AS stated_on, {merged}
FROM intervals JOIN (
    SELECT * FROM award_vintages LEFT JOIN award_suppliers USING (release_vintage_id, award_id)
) AS vintages USING (process_id, award_id)
WHERE vintages.known_from_closing <= closing_no AND closing_no < vintages.known_until_closing
GROUP BY process_id, award_id, closing_no""")
    # These are large and not needed any more.
    for table in (
        *("award_vintages", "award_suppliers", "named_parties", "tenderers"),
        "release_vintages",
    ):
        sql.execute(f"DROP TABLE {table}")


def _create_award_suppliers(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``award_suppliers``: the suppliers of each award of a release.

    A release names a withheld supplier without its award. If it has one award, that is it. If it
    has several, those that name no supplier belong to the withheld one if there is only one, and
    to nobody if there are more.
    """
    sql.execute("""
CREATE TEMP TABLE award_suppliers AS
WITH suppliers AS (FROM named_parties WHERE role = 'supplier'),
only_withheld AS (
    SELECT release_vintage_id, min(party_no) AS party_no FROM suppliers WHERE withheld
    GROUP BY release_vintage_id HAVING count(DISTINCT party_no) = 1
),
assigned AS (
    -- the only award of a release has all its suppliers
    SELECT release_vintage_id, award_id, party_no
    FROM award_vintages JOIN suppliers USING (release_vintage_id)
    WHERE award_vintages.awards_in_release = 1
    UNION
    -- one of several awards has the suppliers it names
    SELECT award.release_vintage_id, award_id, party_no
    FROM (SELECT release_vintage_id, award_id, unnest(supplier_names) AS name
          FROM award_vintages WHERE award_vintages.awards_in_release > 1) AS award
    JOIN suppliers ON suppliers.release_vintage_id = award.release_vintage_id
        -- by name, the only thing the JSON of an award says of its suppliers
        AND coalesce(suppliers.name, '') = award.name
    UNION
    -- or, if it names none, the only withheld supplier
    SELECT release_vintage_id, award_id, party_no
    FROM award_vintages JOIN only_withheld USING (release_vintage_id)
    WHERE award_vintages.awards_in_release > 1 AND len(supplier_names) = 0
)
SELECT release_vintage_id, award_id, list(party_no ORDER BY party_no) AS suppliers
FROM assigned GROUP BY ALL""")


def _create_award_lines(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``award_lines``, active awards with their process, and ``awarded`` processes."""
    sql.execute(f"""
CREATE TEMP TABLE award_lines AS
SELECT awards.process_id, state.country_no, award_id, closing_count, awarded_on, awards.units,
    awards.currency, suppliers,
    -- a line holds while both the state of the award and that of the process do
    greatest(awards.known_from_closing, state.known_from_closing) AS known_from_closing,
    least(awards.known_until_closing, state.known_until_closing) AS known_until_closing,
    coalesce(awarded_on, stated_on) AS award_day,
    {month_number("coalesce(awarded_on, stated_on)")} AS award_month_no,
    buyer, category, tender_end, state.units AS tender_units, state.currency AS tender_currency
FROM awards
JOIN (SELECT states.* EXCLUDE (closing_count), first_month, countries.closing_count
      FROM states JOIN countries USING (country_no)) AS state
  ON state.process_id = awards.process_id
 AND awards.known_from_closing < state.known_until_closing
 AND state.known_from_closing < awards.known_until_closing
-- a pending or cancelled award gives nobody anything; of awards before the country's first release
-- only some are known
WHERE (awards.status IS NULL OR awards.status = 'active')
  AND coalesce(awarded_on, stated_on) >= first_month""")
    sql.execute("DROP TABLE awards")
    sql.execute(f"""
CREATE TEMP TABLE awarded AS
WITH {closing_intervals("process_id", "award_lines")}
SELECT process_id, closing_no AS known_from_closing, min(until_closing) AS known_until_closing,
    min(country_no) AS country_no, min(closing_count) AS closing_count,
    min(award_month_no) AS month_no,
    any_value(category) AS category, min(awarded_on) AS first_awarded_on,
    any_value(tender_end) AS tender_end,
    -- a total only if every award has an amount in the currency of the estimate
    CASE WHEN bool_and(coalesce(
            award_lines.units IS NOT NULL AND currency = tender_currency, FALSE))
        THEN sum(award_lines.units) END AS units,
    any_value(tender_units) AS tender_units, any_value(tender_currency) AS currency
FROM intervals JOIN award_lines USING (process_id)
WHERE award_lines.known_from_closing <= closing_no
  AND closing_no < award_lines.known_until_closing
GROUP BY process_id, closing_no""")
