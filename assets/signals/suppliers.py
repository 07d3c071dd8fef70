"""Awards to newcomers: suppliers that had none in the months before."""

import duckdb

from assets.signals.calendar import EVALUATIONS
from assets.signals.raw_measures import add_measure
from assets.signals.rolling_windows import PRESENT, changes_of, create_rolling_totals
from warehouse.methodology.signals import NEW_AFTER


def add_newcomers(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the share of awards that went to suppliers without one in the months before."""
    sql.execute("""
CREATE OR REPLACE TEMP TABLE wins AS
SELECT country_no, process_id, award_month_no, known_from_closing, known_until_closing,
    unnest(suppliers) AS supplier, 1 AS amount
FROM award_lines WHERE len(suppliers) > 0""")
    # Withheld suppliers count too, under their hashed key, so that shares stay exact.
    create_rolling_totals(sql, "supplier_wins", "FROM wins", ("country_no", "supplier"), 1)
    _create_newcomer_changes(sql)
    lines = "SELECT *, 1 AS amount FROM award_lines"
    create_rolling_totals(sql, "awarded_processes", lines, ("country_no", "process_id"), 1)
    create_rolling_totals(sql, "supplied_processes", "FROM wins", ("country_no", "process_id"), 1)
    withheld = "supplier IN (SELECT party_no FROM parties WHERE withheld)"
    scope = ("country_no",)
    steps = " UNION ALL BY NAME ".join(
        (
            "FROM newcomer_changes",
            changes_of("awarded_processes", scope, "process_id", {"n_eligible": PRESENT}),
            changes_of("supplied_processes", scope, "process_id", {"n_observed": PRESENT}),
            changes_of("supplier_wins", scope, "supplier", {"n_withheld": PRESENT}, withheld),
        )
    )
    names = ("n_eligible", "n_observed", "n_withheld", "term1", "denominator")
    running = ", ".join(f"sum(sum({name})) OVER so_far AS {name}" for name in names)
    # No value before NEW_AFTER months of a country are known: until then everyone looks new. And
    # no row before the first award of the month is known.
    rows = f"""
SELECT * REPLACE (CASE WHEN month_no >= {NEW_AFTER} THEN denominator ELSE 0 END AS denominator)
FROM (
    SELECT country_no, month_no, closing_no, {running}
    FROM ({steps}) GROUP BY country_no, month_no, closing_no
    WINDOW so_far AS (PARTITION BY country_no, month_no ORDER BY closing_no)
) QUALIFY max(n_eligible) OVER (PARTITION BY country_no, month_no ORDER BY closing_no) > 0"""
    panel = "supplier-newcomer-rate"
    add_measure(sql, panel, "newcomer_award_share", rows, n_withheld="n_withheld")


def _create_newcomer_changes(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``newcomer_changes``: by how much awards, and those to newcomers, change."""
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE newcomer_changes AS
WITH months_won AS (
    -- when it is known that a supplier has an award in a month
    SELECT country_no, supplier, award_month_no, min(known_from_closing) AS known_from_closing,
        known_until_closing
    FROM wins WHERE award_month_no >= 0 GROUP BY ALL
),
own_changes AS (
    -- by how much the supplier's awards of the month itself change
    SELECT country_no, supplier, month_no, closing_no, total - coalesce(lag(total) OVER (
        PARTITION BY country_no, supplier, month_no ORDER BY closing_no), 0) AS own_awards,
        0 AS earlier_months
    FROM supplier_wins
),
-- no look-ahead: an earlier award that was published late makes a newcomer only until it is known
earlier AS (
    -- its months with an award within the NEW_AFTER months before, while that is known
    SELECT own.country_no, own.supplier, month_no,
        greatest(known_from_closing, month_no) AS closing_no, known_until_closing, closing_count
    FROM (SELECT DISTINCT country_no, supplier, month_no FROM own_changes) AS own
    JOIN months_won ON months_won.country_no = own.country_no
     AND months_won.supplier = own.supplier
     AND months_won.award_month_no BETWEEN month_no - {NEW_AFTER} AND month_no - 1
    JOIN (SELECT country_no, closing_count FROM countries) AS ends
      ON ends.country_no = own.country_no
    WHERE greatest(known_from_closing, month_no)
        < least(known_until_closing, month_no + {EVALUATIONS}, closing_count)
),
steps AS (
    FROM own_changes
    UNION ALL
    SELECT country_no, supplier, month_no, closing_no, 0, 1 FROM earlier
    UNION ALL
    SELECT country_no, supplier, month_no, known_until_closing, 0, -1 FROM earlier
    WHERE known_until_closing < least(month_no + {EVALUATIONS}, closing_count)
),
running AS (
    -- all its awards of the month count, and as a newcomer's while no earlier month is known
    SELECT country_no, supplier, month_no, closing_no,
        sum(sum(own_awards)) OVER so_far AS denominator,
        CASE WHEN sum(sum(earlier_months)) OVER so_far = 0
            THEN sum(sum(own_awards)) OVER so_far ELSE 0 END AS term1
    FROM steps GROUP BY country_no, supplier, month_no, closing_no
    WINDOW so_far AS (PARTITION BY country_no, supplier, month_no ORDER BY closing_no)
)
SELECT country_no, month_no, closing_no, sum(denominator - denominator_before) AS denominator,
    sum(term1 - term1_before) AS term1
FROM (
    SELECT *, coalesce(lag(denominator) OVER in_order, 0) AS denominator_before,
        coalesce(lag(term1) OVER in_order, 0) AS term1_before
    FROM running
    WINDOW in_order AS (PARTITION BY country_no, supplier, month_no ORDER BY closing_no)
) GROUP BY ALL""")
