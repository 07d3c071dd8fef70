"""What was known of each process and each award, as intervals between closings.

The releases that were known at a closing, each in its vintage of then, are merged as OCDS
does: of each member the newest release that states it counts, and awards are united by their
id. A state holds from closing ``kf`` until before closing ``ku``.
"""

from collections.abc import Sequence

import duckdb

from assets.signals.awards import read_awards
from assets.signals.calendar import NEVER, at_closing, number_of_month, until_closing
from warehouse.methodology.signals import FINAL_STATUSES, HOME_CURRENCY, METHODS, MONEY_BELOW

# A number of 60 bits that tells one vintage of a release from another.
_RID = "CAST(concat('0x', left(row_id, 15)) AS BIGINT)"
_KNOWN = "NOT withdrawn AND available_at IS NOT NULL"
_STATED_ON = "coalesce(released_on, available_at)"


def states(sql: duckdb.DuckDBPyConnection) -> None:
    """Make ``parties``, ``states`` of processes and ``lines``, the awards known of each."""
    _parties(sql)
    _words(sql)
    _releases(sql)
    _named(sql)
    _states(sql)
    _awards(sql)
    _lines(sql)


def _parties(sql: duckdb.DuckDBPyConnection) -> None:
    """Number the parties; one that any release leaves unestablished is withheld.

    That another release establishes it to be an organisation does not help it: the evidence may
    be of someone else under the same key. It is withheld from the rows of past days too.
    """
    sql.execute("""
CREATE TEMP TABLE parties AS
WITH written AS (
    SELECT source, party_key, org_evidence IS NULL OR name IS NULL AS withheld FROM tender_parties
    WHERE NOT withdrawn
    UNION ALL
    SELECT DISTINCT source, buyer_key, TRUE FROM tender_releases AS release
    WHERE buyer_key IS NOT NULL AND NOT EXISTS (
        FROM tender_parties AS party
        WHERE party.source = release.source AND party.party_key = release.buyer_key)
),
matched AS (
    SELECT source, party_key, min(service_id) AS service_id FROM party_matches
    GROUP BY ALL HAVING min(service_id) = max(service_id)
)
SELECT CAST(row_number() OVER (ORDER BY source, party_key) AS INTEGER) AS party,
    source, party_key, withheld, service_id
FROM (SELECT source, party_key, bool_or(withheld) AS withheld FROM written GROUP BY ALL)
LEFT JOIN matched USING (source, party_key)""")


def _words(sql: duckdb.DuckDBPyConnection) -> None:
    """Read the awards, and number categories and currencies.

    Numbers are grouped and joined faster than texts.
    """
    stated = read_awards(
        sql,
        f"""
SELECT {_RID} AS rid, source, CAST(observed_at AS DATE) AS observed_on, release
FROM tender_releases WHERE {_KNOWN} AND contains(release, '"awards"')""",
    )
    sql.register("stated_awards", stated)
    homes = ", ".join(f"('{code}')" for code in dict.fromkeys(HOME_CURRENCY.values()))
    sql.execute(f"""
CREATE TEMP TABLE words AS
SELECT CAST(row_number() OVER (ORDER BY word) AS INTEGER) AS id, word FROM (
    SELECT category AS word FROM tender_releases UNION SELECT tender_currency FROM tender_releases
    UNION SELECT currency FROM stated_awards
    UNION SELECT currency_reported FROM fundamentals WHERE line_item = 'revenue'
    UNION FROM (VALUES {homes})
) WHERE word IS NOT NULL""")
    named = ", ".join(f"('{country}', '{code}')" for country, code in HOME_CURRENCY.items())
    sql.execute(f"""
CREATE TEMP TABLE homes AS
SELECT c, id AS code FROM countries
LEFT JOIN (VALUES {named}) AS home(country, word) USING (country) LEFT JOIN words USING (word)""")


def _releases(sql: duckdb.DuckDBPyConnection) -> None:
    """Make ``said``: every vintage of a release that some closing saw, in the order to merge."""
    sql.execute("""
CREATE TEMP TABLE processes AS
SELECT CAST(row_number() OVER () AS INTEGER) AS pid, source, ocid
FROM (SELECT DISTINCT source, ocid FROM tender_releases)""")
    units = (
        "CAST(replace(CAST(CAST(tender_value AS DECIMAL(38, 4)) AS VARCHAR), '.', '') AS HUGEINT)"
    )
    sql.execute(f"""
CREATE TEMP TABLE said AS
WITH placed AS (
    SELECT release.*, pid, c, party AS buyer, closings, {_RID} AS rid,
        {_STATED_ON} AS stated_on,
        {at_closing("available_at")} AS kf,
        {until_closing("superseded_at")} AS ku,
        row_number() OVER (
            PARTITION BY pid ORDER BY {_STATED_ON}, available_at, publication, vintage
        ) AS turn
    FROM (
        SELECT * EXCLUDE (release), regexp_matches(release, '"tender"\\s*:\\s*\\{{') AS tells_tender
        FROM tender_releases WHERE {_KNOWN}
    ) AS release
    JOIN countries USING (country)
    JOIN processes USING (source, ocid)
    LEFT JOIN parties ON parties.source = release.source
        AND parties.party_key = release.buyer_key
)
SELECT rid, pid, c, kf, ku, turn, source, ocid, release_id, available_at, stated_on, buyer,
    CASE WHEN tells_tender THEN stated_on END AS tender_on,
    kind.id AS category, {_place(FINAL_STATUSES, "tender_status")} AS status,
    {_place(METHODS, "procurement_method")} AS method,
    tender_start, tender_end, number_of_tenderers,
    CASE WHEN tender_value > 0 AND tender_value < {MONEY_BELOW} THEN nullif({units}, 0) END
        AS units,
    money.id AS currency
FROM placed
LEFT JOIN words AS kind ON kind.word = category
LEFT JOIN words AS money ON money.word = tender_currency
WHERE kf < ku AND kf < closings""")


def _place(known: Sequence[str], word: str) -> str:
    """Write the place of a word among those known, 0 for another one."""
    words = ", ".join(f"'{each}'" for each in known)
    return (
        f"CASE WHEN {word} IS NOT NULL THEN "
        f"coalesce(list_position([{words}], lower({word})), 0) END"
    )


def _named(sql: duckdb.DuckDBPyConnection) -> None:
    """Make ``named``: who bids and who supplies by a release, as known on its day."""
    sql.execute("""
CREATE TEMP TABLE named AS
SELECT DISTINCT rid, role, party, withheld, name
FROM tender_parties AS written
JOIN said USING (source, ocid, release_id)
JOIN parties USING (source, party_key)
WHERE role IN ('tenderer', 'supplier') AND NOT written.withdrawn
  AND written.available_at <= said.available_at
  AND (written.superseded_at IS NULL OR written.superseded_at > said.available_at)""")
    sql.execute("""
CREATE TEMP TABLE tenderers AS
SELECT rid, count(DISTINCT party) AS listed FROM named WHERE role = 'tenderer' GROUP BY ALL""")


def _states(sql: duckdb.DuckDBPyConnection) -> None:
    newest = ", ".join(
        f"arg_max({name}, turn) FILTER ({name} IS NOT NULL) AS {name}"
        for name in (
            "buyer",
            "category",
            "status",
            "method",
            "tender_start",
            "tender_end",
            "tenderers",
            "units",
            "currency",
        )
    )
    money = "CASE WHEN units IS NOT NULL THEN concat(units, ' ', currency) END"
    sql.execute(f"""
CREATE TEMP TABLE states AS
WITH told AS (
    SELECT said.*, {money} AS money,
        CASE WHEN number_of_tenderers > 0 THEN number_of_tenderers ELSE listed END AS tenderers
    FROM said LEFT JOIN tenderers USING (rid)
),
{_points("pid", "said")},
merged AS (
    SELECT pid, k AS kf, min(until) AS ku, min(c) AS c, min(tender_on) AS tender_on, {newest},
        count(money) > 1 AS valued_twice, min(money) <> max(money) AS revalued
    FROM points JOIN told USING (pid) WHERE told.kf <= k AND k < told.ku
    GROUP BY pid, k
)
SELECT merged.*, {number_of_month("tender_on")} AS m, closings
FROM merged JOIN countries USING (c)""")


def _points(keys: str, table: str) -> str:
    """Write the closings at which something changes, each until the next one."""
    return f"""
changes AS (
    SELECT {keys}, kf AS k FROM {table} UNION SELECT {keys}, ku FROM {table}
),
points AS (
    SELECT {keys}, k, lead(k, 1, {NEVER}) OVER (PARTITION BY {keys} ORDER BY k) AS until
    FROM changes
)""".strip()


def _awards(sql: duckdb.DuckDBPyConnection) -> None:
    """Make ``awards``: the states of each award, with those who supply it."""
    sql.execute("""
CREATE TEMP TABLE award_said AS
SELECT stated.* EXCLUDE (units, currency), CAST(units AS HUGEINT) AS units, id AS currency,
    pid, c, kf, ku, turn, stated_on
FROM stated_awards AS stated LEFT JOIN words ON word = stated.currency
JOIN (SELECT rid, pid, c, kf, ku, turn, stated_on FROM said) USING (rid)""")
    sql.unregister("stated_awards")
    _suppliers(sql)
    newest = ", ".join(
        f"arg_max({name}, turn) FILTER ({name} IS NOT NULL) AS {name}"
        for name in ("awarded_on", "status", "units", "currency", "suppliers")
    )
    sql.execute(f"""
CREATE TEMP TABLE awards AS
WITH {_points("pid, award", "award_said")}
SELECT pid, award, k AS kf, min(until) AS ku, min(stated_on) AS stated_on, {newest}
FROM points JOIN (
    SELECT * FROM award_said LEFT JOIN award_suppliers USING (rid, award)
) AS told USING (pid, award)
WHERE told.kf <= k AND k < told.ku
GROUP BY pid, award, k""")
    for done in ("award_said", "award_suppliers", "named", "tenderers", "said"):
        sql.execute(f"DROP TABLE {done}")


def _suppliers(sql: duckdb.DuckDBPyConnection) -> None:
    """Tell who supplies by each award.

    A release names a withheld supplier without its award. With one award it is that one's; of
    several, those that show no supplier are the only withheld one's, and nobody's where there
    are more.
    """
    sql.execute("""
CREATE TEMP TABLE award_suppliers AS
WITH supplying AS (FROM named WHERE role = 'supplier'),
unshown AS (
    SELECT rid, min(party) AS party FROM supplying WHERE withheld
    GROUP BY rid HAVING count(DISTINCT party) = 1
),
found AS (
    SELECT rid, award, party FROM award_said JOIN supplying USING (rid) WHERE award_said.of = 1
    UNION
    SELECT shown.rid, award, party
    FROM (SELECT rid, award, unnest(names) AS name FROM award_said WHERE award_said.of > 1) AS shown
    JOIN supplying ON supplying.rid = shown.rid AND coalesce(supplying.name, '') = shown.name
    UNION
    SELECT rid, award, party FROM award_said JOIN unshown USING (rid)
    WHERE award_said.of > 1 AND len(names) = 0
)
SELECT rid, award, list(party ORDER BY party) AS suppliers FROM found GROUP BY ALL""")


def _lines(sql: duckdb.DuckDBPyConnection) -> None:
    """Make ``lines``: awards that stand, beside what was known of their process."""
    sql.execute(f"""
CREATE TEMP TABLE lines AS
SELECT awards.pid, state.c, award, closings, awarded_on, awards.units, awards.currency, suppliers,
    greatest(awards.kf, state.kf) AS kf, least(awards.ku, state.ku) AS ku,
    coalesce(awarded_on, stated_on) AS day,
    {number_of_month("coalesce(awarded_on, stated_on)")} AS a,
    buyer, category, tender_end, state.units AS tender_units, state.currency AS tender_currency
FROM awards
JOIN (SELECT states.* EXCLUDE (closings), first_month, countries.closings
      FROM states JOIN countries USING (c)) AS state
  ON state.pid = awards.pid AND awards.kf < state.ku AND state.kf < awards.ku
WHERE (awards.status IS NULL OR awards.status = 'active')
  AND coalesce(awarded_on, stated_on) >= first_month""")
    sql.execute("DROP TABLE awards")
    sql.execute(f"""
CREATE TEMP TABLE awarded AS
WITH {_points("pid", "lines")}
SELECT pid, k AS kf, min(until) AS ku, min(c) AS c, min(closings) AS closings, min(a) AS m,
    any_value(category) AS category, min(awarded_on) AS first_on,
    any_value(tender_end) AS tender_end,
    CASE WHEN bool_and(coalesce(lines.units IS NOT NULL AND currency = tender_currency, FALSE))
        THEN sum(lines.units) END AS units,
    any_value(tender_units) AS tender_units, any_value(tender_currency) AS currency
FROM points JOIN lines USING (pid) WHERE lines.kf <= k AND k < lines.ku
GROUP BY pid, k""")
