"""From vintages to the inputs of each year, as SQL over the fundamentals.

A figure is summarised from its vintages: when it was first published, its current value and since
when that stands, or when it was withdrawn. A book is a basis with a currency: a metric takes all
its inputs from one book. Formulas, line items, books, years and inputs are numbered, since numbers
are joined faster than texts.
"""

from warehouse.methodology.metrics import BALANCES, FORMULAS, LONGEST_YEAR, SHORTEST_YEAR

_LINE_ITEMS = sorted({needed.line_item for formula in FORMULAS for needed in formula.inputs})
_ITEM_NUMBERS = {line_item: number for number, line_item in enumerate(_LINE_ITEMS)}

_WITHDRAWN = "(withdrawn OR value_reported IS NULL)"


def _values(rows: list[str]) -> str:
    return "VALUES " + ", ".join(f"({row})" for row in rows)


def _formula_inputs() -> str:
    """Return SQL for what each metric needs: an item, of which year, at which input position."""
    rows = [
        f"{metric_no}, {len(formula.inputs)}, {position}, {_ITEM_NUMBERS[needed.line_item]}, "
        f"{needed.last_year}"
        for metric_no, formula in enumerate(FORMULAS)
        for position, needed in enumerate(formula.inputs)
    ]
    columns = "metric_no, input_count, input_position, item_no, is_prior_year"
    return f"SELECT * FROM ({_values(rows)}) AS t({columns})"


def _items() -> str:
    rows = [
        f"{number}, '{line_item}', {line_item in BALANCES}"
        for line_item, number in _ITEM_NUMBERS.items()
    ]
    return f"SELECT * FROM ({_values(rows)}) AS t(item_no, line_item, is_balance)"


_FACT_COLUMNS = (
    *("figure", "figure_check", "vintage", "row_id", "service_id", "line_item", "unit", "basis"),
    *("currency_reported", "period_start", "period_end", "value_reported", "available_at"),
    *("withdrawn", "source_ref", "provenance_id", "method", "observed_at"),
    *("extraction_confidence", "license_class"),
)

# All vintages of the issuers from $first to $last.
CREATE_FACTS = (
    f"CREATE OR REPLACE TEMP TABLE facts AS SELECT {', '.join(_FACT_COLUMNS)} FROM fundamentals "
    "WHERE service_id BETWEEN $first AND $last"
)

# A figure can be withdrawn and reported again: only what came after the last withdrawal counts as
# reported without interruption.
_LAST_WITHDRAWALS = f"""
SELECT figure, figure_check, max(vintage) AS withdrawn_vintage FROM facts WHERE {_WITHDRAWN}
GROUP BY figure, figure_check
"""

_BOOKS = """
SELECT row_number() OVER (ORDER BY consolidated DESC, currency, basis) AS book_no, *
FROM (SELECT DISTINCT unit AS currency, basis, starts_with(basis, 'consolidated') AS consolidated
      -- other units are shares, ratios per share, or translations for convenience
      FROM facts WHERE unit = currency_reported)
"""

_FIGURES = f"""
WITH histories AS (
    SELECT figure, figure_check, max(vintage) AS vintage,
        min(available_at) FILTER (NOT {_WITHDRAWN}) AS first_published_at,
        -- since when it has been reported without interruption
        min(available_at) FILTER (
            NOT {_WITHDRAWN} AND vintage > coalesce(withdrawn_vintage, 0)) AS reported_since
    FROM facts LEFT JOIN last_withdrawals USING (figure, figure_check)
    -- a vintage without a date is excluded from every as_of
    WHERE available_at IS NOT NULL
    GROUP BY figure, figure_check
    HAVING first_published_at IS NOT NULL
)
-- the last vintage of each figure: its value is the one a metric uses
SELECT figure, figure_check, vintage, service_id, item_no, is_balance, book_no, period_start,
    period_end, first_published_at, reported_since, available_at AS last_changed_at,
    NOT {_WITHDRAWN} AS is_reported,
    period_end - period_start + 1 AS days,
    days BETWEEN {SHORTEST_YEAR} AND {LONGEST_YEAR} AS is_year
FROM histories JOIN facts USING (figure, figure_check, vintage)
LEFT JOIN items USING (line_item)
LEFT JOIN books ON books.currency = currency_reported AND books.currency = unit
    AND books.basis = facts.basis
"""

# Balances are of a day, all other items of a period.
_INPUTS = """
SELECT row_number() OVER () - 1 AS input_no, figure, figure_check, vintage, service_id, item_no,
    book_no, period_start, period_end, first_published_at, last_changed_at, is_reported, is_year
FROM figures WHERE book_no IS NOT NULL AND is_balance = (period_start IS NULL)
"""

# What an issuer published first of all, first of a full year, and first of another period.
_ISSUERS = """
SELECT service_id, min(publication) AS first_figure,
    min(publication) FILTER (is_year) AS first_year,
    min(publication) FILTER (NOT is_year) AS first_short_period
FROM (SELECT service_id, is_year,
          {'published_at': first_published_at, 'period_end': period_end} AS publication
      FROM figures)
GROUP BY service_id
"""

# A year is an issuer's period of full length; years with the same end share a year_end_no, since
# only one of them can be the answer. A year counts as withdrawn once no figure spans it any more:
# then its reported_since is null.
_YEARS = """
SELECT row_number() OVER () AS year_no, *,
    dense_rank() OVER (ORDER BY service_id, period_end) AS year_end_no
FROM (
    SELECT service_id, period_start, period_end, any_value(days) AS days,
        min(first_published_at) AS year_published_at,
        min(reported_since) FILTER (is_reported) AS year_reported_since,
        max(last_changed_at) AS year_last_changed_at
    FROM figures WHERE is_year GROUP BY service_id, period_start, period_end
)
"""

# The inputs that a year can use: its own, and those of the year before.
_YEAR_INPUTS = """
SELECT year_no, year_end_no, book_no, item_no, FALSE AS is_prior_year, input_no,
    first_published_at, last_changed_at, is_reported
FROM years JOIN inputs USING (service_id, period_end)
-- flows must span exactly this year; balances have no start
WHERE inputs.period_start IS NULL OR inputs.period_start = years.period_start
UNION ALL
SELECT year_no, year_end_no, book_no, item_no, TRUE, input_no,
    first_published_at, last_changed_at, is_reported
FROM years JOIN inputs
  ON inputs.service_id = years.service_id AND inputs.period_end = years.period_start - 1
WHERE (inputs.period_start IS NULL OR is_year)
  AND item_no IN (SELECT item_no FROM formula_inputs WHERE is_prior_year)
-- if the year before was stated with several first days, the statement published first
QUALIFY row_number() OVER (
    PARTITION BY year_no, book_no, item_no ORDER BY first_published_at, inputs.period_start) = 1
"""

# In the order in which they are created.
TABLES = {
    "formula_inputs": _formula_inputs(),
    "items": _items(),
    "last_withdrawals": _LAST_WITHDRAWALS,
    "books": _BOOKS,
    "figures": _FIGURES,
    "inputs": _INPUTS,
    "issuers": _ISSUERS,
    "years": _YEARS,
    "year_inputs": _YEAR_INPUTS,
}
