"""How awards are spread over suppliers, per country and per buyer, and processes over buyers.

Exact at any size: the square of a total is kept as three products of its halves (see
``raw_measures.HALF``).
"""

from collections.abc import Sequence

import duckdb

from assets.signals.calendar import NEVER
from assets.signals.raw_measures import HALF, add_measure
from assets.signals.rolling_windows import PRESENT, changes_of, create_rolling_totals
from warehouse.methodology.signals import TRAILING

# The total, and the three products whose weighted sum is its square.
_SQUARES = {
    # floor(total / HALF) and the rest: (a * HALF + b)² = a² * HALF² + 2ab * HALF + b².
    "total": "{total}",
    "square_high": f"({{total}} // {HALF}) * ({{total}} // {HALF})",
    "square_middle": f"({{total}} // {HALF}) * ({{total}} % {HALF})",
    "square_low": f"({{total}} % {HALF}) * ({{total}} % {HALF})",
}
_HHI = {
    "kind": "'hhi'",
    "term1": "square_high",
    "term2": "square_middle",
    "term3": "square_low",
}
_DIMENSIONS = {
    "dimension": "dimension",
    "dimension_value": "dimension_value",
    "party_no": "party_no",
}


def add_concentration(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the concentration of suppliers: of a country, and of each buyer that may be named."""
    # Only an award with one supplier says what that supplier gets.
    sql.execute("""
CREATE OR REPLACE TEMP VIEW sales AS
SELECT process_id, country_no, award_month_no, known_from_closing, known_until_closing, buyer,
    suppliers[1] AS supplier, currency, units
FROM award_lines
WHERE len(suppliers) = 1 AND units IS NOT NULL AND currency IS NOT NULL""")
    sql.execute("""
CREATE OR REPLACE TEMP VIEW withheld_suppliers AS
SELECT line.country_no, award_month_no, known_from_closing, known_until_closing, buyer,
    party_no AS supplier
FROM (SELECT *, unnest(suppliers) AS party_no FROM award_lines) AS line
JOIN parties USING (party_no)
WHERE withheld""")
    _add_measures(sql, "award-concentration", ("country_no",))
    # A withheld buyer may be a person. It gets no row of its own: its shares would describe it.
    named = "buyer IN (SELECT party_no FROM parties WHERE NOT withheld)"
    _add_measures(sql, "buyer-supplier-concentration", ("country_no", "buyer"), named)
    _add_named_buyer_share(sql)


def _add_measures(
    sql: duckdb.DuckDBPyConnection, panel: str, scope: Sequence[str], where: str = "TRUE"
) -> None:
    _create_concentrated(sql, scope, where)
    currency_month = ", ".join((*scope, "currency", "month_no"))
    _create_top_suppliers(sql, currency_month)
    if "buyer" in scope:
        dimension = "buyer AS party_no, 'buyer' AS dimension, NULL AS dimension_value"
    else:
        dimension = "NULL AS party_no, 'all' AS dimension, 'all' AS dimension_value"
    # No value until the window of a country is full.
    rows = f"""
SELECT concentrated.*, CASE WHEN month_no >= {TRAILING - 1} THEN total ELSE 0 END AS denominator,
    top1, top3, {dimension}
FROM concentrated LEFT JOIN top_suppliers USING ({currency_month}, closing_no)"""
    columns = _DIMENSIONS | {"currency": "currency", "n_withheld": "n_withheld"}
    add_measure(sql, panel, "supplier_hhi", rows, **columns, **_HHI)
    add_measure(sql, panel, "top1_share", rows, **columns, term1="top1")
    add_measure(sql, panel, "top3_share", rows, **columns, term1="top3")


def _create_concentrated(sql: duckdb.DuckDBPyConnection, scope: Sequence[str], where: str) -> None:
    """Create ``concentrated``: sums and counts per scope and currency, where they change."""
    # A process can have several awards. It is counted once, however many of them the window has.
    for table, pieces, own_columns in (
        ("supplier_totals", "SELECT *, units AS amount FROM sales", ("currency", "supplier")),
        ("observed_processes", "SELECT *, 1 AS amount FROM sales", ("currency", "process_id")),
        ("awarded_processes", "SELECT *, 1 AS amount FROM award_lines", ("process_id",)),
        ("withheld_totals", "SELECT *, 1 AS amount FROM withheld_suppliers", ("supplier",)),
    ):
        create_rolling_totals(
            sql, table, f"{pieces} WHERE {where}", (*scope, *own_columns), TRAILING
        )
    by_currency = (*scope, "currency")
    money = changes_of("supplier_totals", by_currency, "supplier", _SQUARES)
    observed = changes_of("observed_processes", by_currency, "process_id", {"n_observed": PRESENT})
    eligible = changes_of("awarded_processes", scope, "process_id", {"n_eligible": PRESENT})
    withheld = changes_of("withheld_totals", scope, "supplier", {"n_withheld": PRESENT})
    scope_month = ", ".join((*scope, "month_no"))
    currency_month = ", ".join((*scope, "currency", "month_no"))
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE concentrated AS
WITH money AS ({money}),
observed AS ({observed}),
eligible AS ({eligible}),
withheld AS ({withheld}),
all_currencies AS (
    -- the currencies with an observed award, and always the home currency, whose row says that
    -- nothing was observed
    SELECT DISTINCT {scope_month}, currency, FALSE AS is_home FROM observed
    UNION
    SELECT DISTINCT {scope_month}, currency, TRUE
    FROM eligible JOIN home_currencies USING (country_no)
),
currencies AS (
    SELECT {scope_month}, currency, bool_or(is_home) AS is_home FROM all_currencies GROUP BY ALL
),
steps AS (
    -- every step is a change at a closing; what it does not change is null
    SELECT * FROM money
    UNION ALL BY NAME SELECT * FROM observed
    -- eligible processes and withheld suppliers count in the row of every currency
    UNION ALL BY NAME SELECT * FROM eligible JOIN currencies USING ({scope_month})
    UNION ALL BY NAME SELECT * FROM withheld JOIN currencies USING ({scope_month})
),
per_closing AS (
    SELECT {currency_month}, closing_no, bool_or(coalesce(is_home, FALSE)) AS is_home,
        {_for_all_sums("CAST(coalesce(sum({name}), 0) AS HUGEINT) AS {name}")}
    FROM steps GROUP BY ALL
),
running AS (
    SELECT {currency_month}, closing_no,
        -- a currency has rows from the first closing at which an award was observed in it
        bool_or(is_home OR n_observed > 0) OVER so_far AS has_row,
        {_for_all_sums("CAST(sum({name}) OVER so_far AS HUGEINT) AS {name}")}
    FROM per_closing WINDOW so_far AS (PARTITION BY {currency_month} ORDER BY closing_no)
)
SELECT * EXCLUDE (has_row) FROM running WHERE has_row""")


def _for_all_sums(form: str) -> str:
    names = (*_SQUARES, "n_observed", "n_eligible", "n_withheld")
    return ", ".join(form.format(name=name) for name in names)


def _create_top_suppliers(sql: duckdb.DuckDBPyConnection, keys: str) -> None:
    """Create ``top_suppliers``: the sums of the largest and the three largest at each change.

    Prune first: a supplier can only enter the top 3 at some closing if its total reaches the
    third-largest of the minima over all closings, since three suppliers never fall below that.
    """
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE top_suppliers AS
WITH totals AS (
    SELECT *, lead(closing_no, 1, {NEVER}) OVER (
        PARTITION BY {keys}, supplier ORDER BY closing_no) AS until_closing
    FROM supplier_totals
),
minima AS (
    -- a supplier that appears after the first closing was at zero before: its minimum is no bound
    SELECT {keys}, supplier, min(total) AS minimum FROM totals
    GROUP BY ALL HAVING min(closing_no) = month_no
),
bounds AS (
    SELECT {keys}, coalesce(max(minimum, 3)[3], 0) AS bound FROM minima GROUP BY ALL
),
candidates AS (
    SELECT totals.* FROM totals LEFT JOIN bounds USING ({keys})
    WHERE total > 0 AND total >= coalesce(bound, 0)
),
largest AS (
    SELECT {keys}, changed.closing_no, max(candidates.total, 3) AS top_totals
    FROM (SELECT {keys}, closing_no FROM concentrated) AS changed
    JOIN candidates USING ({keys})
    WHERE candidates.closing_no <= changed.closing_no
      AND changed.closing_no < candidates.until_closing
    GROUP BY ALL
)
SELECT {keys}, closing_no, top_totals[1] AS top1, list_sum(top_totals) AS top3 FROM largest""")


def _add_named_buyer_share(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the share of awarded processes whose buyer may be named: the others have no row."""
    bought = "SELECT award_lines.*, 1 AS amount FROM award_lines JOIN parties ON party_no = buyer"
    steps = []
    for table, pieces, entity, name in (
        # The inner join to parties leaves out awards whose process names no buyer: not observed.
        ("awarded_processes", "SELECT *, 1 AS amount FROM award_lines", "process_id", "n_eligible"),
        ("bought_processes", bought, "process_id", "n_observed"),
        ("named_processes", f"{bought} WHERE NOT withheld", "process_id", "term1"),
        ("withheld_buyers", f"{bought} WHERE withheld", "buyer", "n_withheld"),
    ):
        create_rolling_totals(sql, table, pieces, ("country_no", entity), TRAILING)
        steps.append(changes_of(table, ("country_no",), entity, {name: PRESENT}))
    running = _running(("n_eligible", "n_observed", "term1", "n_withheld"))
    rows = f"""
SELECT *, CASE WHEN month_no >= {TRAILING - 1} THEN n_observed ELSE 0 END AS denominator FROM (
    SELECT country_no, month_no, closing_no, {running}
    FROM ({" UNION ALL BY NAME ".join(steps)}) GROUP BY country_no, month_no, closing_no
    WINDOW so_far AS (PARTITION BY country_no, month_no ORDER BY closing_no)
)"""
    panel = "buyer-supplier-concentration"
    add_measure(sql, panel, "named_buyer_share", rows, n_withheld="n_withheld")


def _running(names: Sequence[str]) -> str:
    return ", ".join(f"sum(sum({name})) OVER so_far AS {name}" for name in names)


def add_buyer_hhi(sql: duckdb.DuckDBPyConnection) -> None:
    """Add how the processes of a month are spread over their buyers."""
    sql.execute("""
CREATE OR REPLACE TEMP VIEW purchases AS
SELECT states.country_no, process_id, month_no AS award_month_no, known_from_closing,
    known_until_closing, buyer, withheld, category, 1 AS amount
FROM states LEFT JOIN parties ON party_no = buyer""")
    # Category 0 stands for all.
    _add_buyer_hhi(sql, "SELECT * REPLACE (0 AS category) FROM purchases")
    _add_buyer_hhi(sql, "FROM purchases WHERE category IS NOT NULL")


def _add_buyer_hhi(sql: duckdb.DuckDBPyConnection, purchases: str) -> None:
    scope = ("country_no", "category")
    keys = ", ".join((*scope, "month_no"))
    with_buyer = f"FROM ({purchases}) WHERE buyer IS NOT NULL"
    create_rolling_totals(sql, "buyer_totals", with_buyer, (*scope, "buyer"), 1)
    create_rolling_totals(sql, "all_processes", purchases, scope, 1)
    withheld = "buyer IN (SELECT party_no FROM parties WHERE withheld)"
    steps = (
        changes_of("buyer_totals", scope, "buyer", _SQUARES),
        changes_of("all_processes", scope, "month_no", {"n_eligible": "{total}"}),
        f"""SELECT * FROM ({
            changes_of("buyer_totals", scope, "buyer", {"n_withheld": PRESENT}, withheld)
        })""",
    )
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE concentrated AS
SELECT {keys}, closing_no, {_running((*_SQUARES, "n_eligible", "n_withheld"))}
FROM ({" UNION ALL BY NAME ".join(steps)}) GROUP BY {keys}, closing_no
WINDOW so_far AS (PARTITION BY {keys} ORDER BY closing_no)""")
    add_measure(
        sql,
        "procurement-demand",
        "buyer_hhi",
        "FROM concentrated",
        dimension="CASE category WHEN 0 THEN 'all' ELSE 'category' END",
        dimension_value="CASE category WHEN 0 THEN 'all' ELSE CAST(category AS VARCHAR) END",
        **_HHI,
        denominator="total",
        n_observed="total",
        n_withheld="n_withheld",
    )
