"""Who sells how much of the whole, to a country and to each buyer; and who buys.

Exact at any size: the square of a sum is kept as three sums of products of its halves.
"""

from collections.abc import Sequence

import duckdb

from assets.signals.calendar import NEVER
from assets.signals.raw_measures import HALF, add
from assets.signals.rolling_windows import PRESENT, moving, stepped
from warehouse.methodology.signals import TRAILING

_SQUARES = {
    "total": "{v}",
    "high": f"({{v}} // {HALF}) * ({{v}} // {HALF})",
    "middle": f"({{v}} // {HALF}) * ({{v}} % {HALF})",
    "low": f"({{v}} % {HALF}) * ({{v}} % {HALF})",
}
_DIMS = {"dimension": "dimension", "dimension_value": "dimension_value", "party": "party"}


def concentration(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the concentration of suppliers: of a country, and of each buyer that is shown."""
    sql.execute("""
CREATE OR REPLACE TEMP VIEW sold AS
SELECT pid, c, a, kf, ku, buyer, suppliers[1] AS supplier, currency, units FROM lines
WHERE len(suppliers) = 1 AND units IS NOT NULL AND currency IS NOT NULL""")
    sql.execute("""
CREATE OR REPLACE TEMP VIEW unshown AS
SELECT line.c, a, kf, ku, buyer, party AS supplier
FROM (SELECT *, unnest(suppliers) AS party FROM lines) AS line JOIN parties USING (party)
WHERE withheld""")
    _measures(sql, "award-concentration", ("c",), "NULL")
    shown = "buyer IN (SELECT party FROM parties WHERE NOT withheld)"
    _measures(sql, "buyer-supplier-concentration", ("c", "buyer"), "buyer", shown)
    _named_buyers(sql)


def _measures(
    sql: duckdb.DuckDBPyConnection,
    panel: str,
    scope: Sequence[str],
    party: str,
    where: str = "TRUE",
) -> None:
    _sums(sql, scope, where)
    named = ", ".join((*scope, "currency", "m"))
    _tops(sql, named)
    rows = f"""
SELECT concentrated.*, CASE WHEN m >= {TRAILING - 1} THEN total ELSE 0 END AS den, top1, top3,
    {party} AS party, {"'all'" if party == "NULL" else "'buyer'"} AS dimension,
    {"'all'" if party == "NULL" else "NULL"} AS dimension_value
FROM concentrated LEFT JOIN tops USING ({named}, k)"""
    given = _DIMS | {"currency": "currency", "n_withheld": "n_withheld"}
    hhi = {"kind": "'hhi'", "n1": "high", "n2": "middle", "n3": "low"}
    add(sql, panel, "supplier_hhi", rows, **given, **hhi)
    add(sql, panel, "top1_share", rows, **given, n1="top1")
    add(sql, panel, "top3_share", rows, **given, n1="top3")


def _sums(sql: duckdb.DuckDBPyConnection, scope: Sequence[str], where: str) -> None:
    """Make ``concentrated``: sums and counts of each scope and currency where they change."""
    moving(
        sql,
        "sums",
        f"SELECT *, units AS amount FROM sold WHERE {where}",
        (*scope, "currency", "supplier"),
        TRAILING,
    )
    moving(
        sql,
        "stating",
        f"SELECT *, 1 AS amount FROM sold WHERE {where}",
        (*scope, "currency", "pid"),
        TRAILING,
    )
    moving(
        sql,
        "awarding",
        f"SELECT *, 1 AS amount FROM lines WHERE {where}",
        (*scope, "pid"),
        TRAILING,
    )
    moving(
        sql,
        "hidden",
        f"SELECT *, 1 AS amount FROM unshown WHERE {where}",
        (*scope, "supplier"),
        TRAILING,
    )
    key, every = ", ".join((*scope, "m")), ", ".join((*scope, "currency", "m"))
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE concentrated AS
WITH money AS ({stepped("sums", (*scope, "currency"), "supplier", _SQUARES)}),
observed AS ({stepped("stating", (*scope, "currency"), "pid", {"n_observed": PRESENT})}),
eligible AS ({stepped("awarding", scope, "pid", {"n_eligible": PRESENT})}),
withheld AS ({stepped("hidden", scope, "supplier", {"n_withheld": PRESENT})}),
keys AS (
    SELECT DISTINCT {key}, currency, FALSE AS home FROM observed
    UNION
    SELECT DISTINCT {key}, code, TRUE FROM eligible JOIN homes USING (c)
),
currencies AS (SELECT {key}, currency, bool_or(home) AS home FROM keys GROUP BY ALL),
steps AS (
    SELECT * FROM money
    UNION ALL BY NAME SELECT * FROM observed
    UNION ALL BY NAME SELECT * FROM eligible JOIN currencies USING ({key})
    UNION ALL BY NAME SELECT * FROM withheld JOIN currencies USING ({key})
),
joined AS (
    SELECT {every}, k, bool_or(coalesce(home, FALSE)) AS home,
        {_each("CAST(coalesce(sum({name}), 0) AS HUGEINT) AS {name}")}
    FROM steps GROUP BY ALL
),
known AS (
    SELECT {every}, k,
        bool_or(home OR n_observed > 0) OVER running AS told,
        {_each("CAST(sum({name}) OVER running AS HUGEINT) AS {name}")}
    FROM joined WINDOW running AS (PARTITION BY {every} ORDER BY k)
)
SELECT * EXCLUDE (told), lead(k, 1, {NEVER}) OVER (PARTITION BY {every} ORDER BY k) AS until
FROM known WHERE told""")


def _each(form: str) -> str:
    names = (*_SQUARES, "n_observed", "n_eligible", "n_withheld")
    return ", ".join(form.format(name=name) for name in names)


def _tops(sql: duckdb.DuckDBPyConnection, named: str) -> None:
    """Make ``tops``: the sums of the first and the first three suppliers at each change.

    Few can be among the first three at any closing: those whose sum reaches the third of what
    every supplier never falls below.
    """
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE tops AS
WITH held AS (
    SELECT *, lead(k, 1, {NEVER}) OVER (PARTITION BY {named}, supplier ORDER BY k) AS until
    FROM sums
),
never_below AS (
    SELECT {named}, supplier, min(v) AS least FROM held GROUP BY ALL HAVING min(k) = m
),
bars AS (
    SELECT {named}, coalesce(max(least, 3)[3], 0) AS bar FROM never_below GROUP BY ALL
),
possible AS (
    SELECT held.* FROM held LEFT JOIN bars USING ({named}) WHERE v > 0 AND v >= coalesce(bar, 0)
),
first_three AS (
    SELECT {named}, changed.k, max(v, 3) AS three
    FROM (SELECT {named}, k FROM concentrated) AS changed JOIN possible USING ({named})
    WHERE possible.k <= changed.k AND changed.k < possible.until
    GROUP BY ALL
)
SELECT {named}, k, three[1] AS top1, list_sum(three) AS top3 FROM first_three""")


def _named_buyers(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the share of awarded processes whose buyer is shown: the others have no row."""
    shown = "SELECT lines.*, 1 AS amount FROM lines JOIN parties ON party = buyer"
    moving(sql, "awarding", "SELECT *, 1 AS amount FROM lines", ("c", "pid"), TRAILING)
    moving(sql, "bought", shown, ("c", "pid"), TRAILING)
    moving(sql, "shown", f"{shown} WHERE NOT withheld", ("c", "pid"), TRAILING)
    moving(sql, "hidden", f"{shown} WHERE withheld", ("c", "buyer"), TRAILING)
    steps = " UNION ALL BY NAME ".join(
        stepped(table, ("c",), entity, {name: PRESENT})
        for table, entity, name in (
            ("awarding", "pid", "n_eligible"),
            ("bought", "pid", "n_observed"),
            ("shown", "pid", "n1"),
            ("hidden", "buyer", "n_withheld"),
        )
    )
    names = ("n_eligible", "n_observed", "n1", "n_withheld")
    rows = f"""
SELECT *, CASE WHEN m >= {TRAILING - 1} THEN n_observed ELSE 0 END AS den FROM (
    SELECT c, m, k, {", ".join(f"sum(sum({name})) OVER running AS {name}" for name in names)}
    FROM ({steps}) GROUP BY c, m, k WINDOW running AS (PARTITION BY c, m ORDER BY k)
)"""
    add(sql, "buyer-supplier-concentration", "named_buyer_share", rows, n_withheld="n_withheld")


def hhi_of_buyers(sql: duckdb.DuckDBPyConnection) -> None:
    """Add how the processes of a month are spread over their buyers."""
    sql.execute("""
CREATE OR REPLACE TEMP VIEW buying AS
SELECT states.c, pid, m AS a, kf, ku, buyer, withheld, category, 1 AS amount
FROM states LEFT JOIN parties ON party = buyer""")
    _buyers(sql, "SELECT * REPLACE (0 AS category) FROM buying")
    _buyers(sql, "FROM buying WHERE category IS NOT NULL")


def _buyers(sql: duckdb.DuckDBPyConnection, told: str) -> None:
    scope = ("c", "category")
    every = ", ".join((*scope, "m"))
    moving(sql, "sums", f"FROM ({told}) WHERE buyer IS NOT NULL", (*scope, "buyer"), 1)
    moving(sql, "awarding", told, scope, 1)
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE concentrated AS
WITH steps AS (
    {stepped("sums", scope, "buyer", _SQUARES)}
    UNION ALL BY NAME
    {stepped("awarding", scope, "m", {"n_eligible": "{v}"})}
    UNION ALL BY NAME
    SELECT * FROM ({
        stepped(
            "sums",
            scope,
            "buyer",
            {"n_withheld": PRESENT},
            "buyer IN (SELECT party FROM parties WHERE withheld)",
        )
    })
)
SELECT {every}, k, {
        ", ".join(
            f"sum(sum({name})) OVER running AS {name}"
            for name in (*_SQUARES, "n_eligible", "n_withheld")
        )
    }
FROM steps GROUP BY {every}, k WINDOW running AS (PARTITION BY {every} ORDER BY k)""")
    add(
        sql,
        "procurement-demand",
        "buyer_hhi",
        "FROM concentrated",
        dimension="CASE category WHEN 0 THEN 'all' ELSE 'category' END",
        dimension_value="CASE category WHEN 0 THEN 'all' ELSE CAST(category AS VARCHAR) END",
        kind="'hhi'",
        n1="high",
        n2="middle",
        n3="low",
        den="total",
        n_observed="total",
        n_withheld="n_withheld",
    )
