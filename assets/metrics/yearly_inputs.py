"""From vintages to the inputs of each year, as SQL over the staged record.

A figure is what its vintages tell of it: when it was first published, its current value and
since when that stands, or when it was withdrawn. A book is a basis with a currency: a value
takes all its inputs from one.
"""

from warehouse.methodology.metrics import BALANCES, FORMULAS, LONGEST_YEAR, SHORTEST_YEAR

_ITEMS = sorted({each.line_item for formula in FORMULAS for each in formula.inputs})
_CODES = {item: code for code, item in enumerate(_ITEMS)}

_AWAY = "(withdrawn OR value_reported IS NULL)"


def _values(rows: list[str]) -> str:
    return "VALUES " + ", ".join(f"({row})" for row in rows)


def _formulas() -> str:
    """Give what each metric needs: the item, of which year, at which place of its inputs."""
    rows = [
        f"{metric}, {len(formula.inputs)}, {place}, {_CODES[each.line_item]}, {each.last_year}, "
        f"{each.line_item in BALANCES}"
        for metric, formula in enumerate(FORMULAS)
        for place, each in enumerate(formula.inputs)
    ]
    return f"SELECT * FROM ({_values(rows)}) AS t(metric, needed, place, item, last_year, balance)"


def _items() -> str:
    rows = [f"{code}, '{item}', {item in BALANCES}" for item, code in _CODES.items()]
    return f"SELECT * FROM ({_values(rows)}) AS t(item, line_item, balance)"


_KEPT = (
    *("figure", "figure_check", "vintage", "row_id", "service_id", "line_item", "unit", "basis"),
    *("currency_reported", "period_start", "period_end", "value_reported", "available_at"),
    *("withdrawn", "source_ref", "provenance_id", "method", "observed_at"),
    *("extraction_confidence", "license_class"),
)


def facts() -> str:
    """Write what makes ``facts``: all vintages of the issuers from $first to $last."""
    return (
        f"CREATE OR REPLACE TEMP TABLE facts AS SELECT {', '.join(_KEPT)} FROM fundamentals "
        "WHERE service_id BETWEEN $first AND $last"
    )


_GONE = f"""
SELECT figure, figure_check, max(vintage) AS gone FROM facts WHERE {_AWAY}
GROUP BY figure, figure_check
"""

_FIGURES = f"""
WITH histories AS (
    SELECT figure, figure_check, max(vintage) AS vintage,
        min(available_at) FILTER (NOT {_AWAY}) AS first_at,
        min(available_at) FILTER (NOT {_AWAY} AND vintage > coalesce(gone, 0)) AS since_at
    FROM facts LEFT JOIN gone USING (figure, figure_check)
    WHERE available_at IS NOT NULL
    GROUP BY figure, figure_check
    HAVING first_at IS NOT NULL
)
SELECT figure, figure_check, vintage, service_id, item, balance, book, period_start, period_end,
    first_at, since_at, available_at AS current_at, NOT {_AWAY} AS alive,
    period_end - period_start + 1 AS days,
    days BETWEEN {SHORTEST_YEAR} AND {LONGEST_YEAR} AS is_year
FROM histories JOIN facts USING (figure, figure_check, vintage)
LEFT JOIN items USING (line_item)
LEFT JOIN books ON books.currency = currency_reported AND books.currency = unit
    AND books.basis = facts.basis
"""

_BOOKS = """
SELECT row_number() OVER (ORDER BY consolidated DESC, currency, basis) AS book, *
FROM (SELECT DISTINCT unit AS currency, basis, starts_with(basis, 'consolidated') AS consolidated
      FROM facts WHERE unit = currency_reported)
"""

_INPUTS = """
SELECT row_number() OVER () - 1 AS id, figure, figure_check, vintage, service_id, item, book,
    period_start, period_end, first_at, current_at, alive, is_year
FROM figures WHERE book IS NOT NULL AND balance = (period_start IS NULL)
"""

# What an issuer published first of all, of a full year, and of a period of another length.
_ISSUERS = """
SELECT service_id, min(told) AS seen, min(told) FILTER (is_year) AS year,
    min(told) FILTER (NOT is_year) AS short
FROM (SELECT service_id, is_year, {'day': first_at, 'of': period_end} AS told FROM figures)
GROUP BY service_id
"""

# A year ended for good where no figure that spans it is left.
_YEARS = """
SELECT row_number() OVER () AS year, *,
    dense_rank() OVER (ORDER BY service_id, period_end) AS ending
FROM (
    SELECT service_id, period_start, period_end, any_value(days) AS days,
        min(first_at) AS known_at, min(since_at) FILTER (alive) AS stands_at,
        max(current_at) AS last_at
    FROM figures WHERE is_year GROUP BY service_id, period_start, period_end
)
"""

# Of last year stated with several first days, the statement published first.
_REACH = """
SELECT year, ending, book, item, FALSE AS last_year, id, first_at, current_at, alive
FROM years JOIN inputs USING (service_id, period_end)
WHERE inputs.period_start IS NULL OR inputs.period_start = years.period_start
UNION ALL
SELECT year, ending, book, item, TRUE, id, first_at, current_at, alive
FROM years JOIN inputs
  ON inputs.service_id = years.service_id AND inputs.period_end = years.period_start - 1
WHERE (inputs.period_start IS NULL OR is_year)
  AND item IN (SELECT item FROM formulas WHERE last_year)
QUALIFY row_number() OVER (
    PARTITION BY year, book, item ORDER BY first_at, inputs.period_start) = 1
"""

TABLES = {
    "formulas": _formulas(),
    "items": _items(),
    "gone": _GONE,
    "books": _BOOKS,
    "figures": _FIGURES,
    "inputs": _INPUTS,
    "issuers": _ISSUERS,
    "years": _YEARS,
    "reach": _REACH,
}
