"""From vintages and statements to the inputs of each year, as SQL over the fundamentals.

A figure is summarised from its vintages: when it was first published, its current value and since
when that stands, or when it was withdrawn. A book is a basis with a currency: a metric takes all
its inputs from one book. Formulas, line items, books, years and inputs are numbered, since numbers
are joined faster than texts.
"""

from warehouse.methodology.metrics import (
    BALANCES,
    FORMULAS,
    LONGEST_YEAR,
    SHORTEST_YEAR,
    STRAY_YEAR,
    Input,
)

_LINE_ITEMS = sorted({needed.line_item for formula in FORMULAS for needed in formula.inputs})
_ITEM_NUMBERS = {line_item: number for number, line_item in enumerate(_LINE_ITEMS)}
# Each figure that any formula needs, of this year or the one before, has a bit: whether all
# inputs of a formula are there is one comparison of two whole numbers.
_BITS: dict[Input, int] = {
    needed: number
    for number, needed in enumerate(
        dict.fromkeys(needed for formula in FORMULAS for needed in formula.inputs)
    )
}

_WITHDRAWN = "(withdrawn OR value_reported IS NULL)"


def _values(rows: list[str]) -> str:
    return "VALUES " + ", ".join(f"({row})" for row in rows)


def _formula_inputs() -> str:
    """Return SQL for what each metric needs: an item, of which year, at which input position."""
    rows = [
        f"{metric_no}, {position}, {_ITEM_NUMBERS[needed.line_item]}, {needed.last_year}, "
        f"{_BITS[needed]}"
        for metric_no, formula in enumerate(FORMULAS)
        for position, needed in enumerate(formula.inputs)
    ]
    columns = "metric_no, input_position, item_no, is_prior_year, bit"
    return f"SELECT * FROM ({_values(rows)}) AS t({columns})"


def _needs() -> str:
    """Return SQL for the bits that each metric needs."""
    rows = [
        f"{metric_no}, {sum(1 << _BITS[needed] for needed in formula.inputs)}::BIGINT"
        for metric_no, formula in enumerate(FORMULAS)
    ]
    return f"SELECT * FROM ({_values(rows)}) AS t(metric_no, needed)"


def _bits() -> str:
    rows = [
        f"{_ITEM_NUMBERS[needed.line_item]}, {needed.last_year}, {bit}"
        for needed, bit in _BITS.items()
    ]
    return f"SELECT * FROM ({_values(rows)}) AS t(item_no, is_prior_year, bit)"


def _items() -> str:
    rows = [
        f"{number}, '{line_item}', {line_item in BALANCES}"
        for line_item, number in _ITEM_NUMBERS.items()
    ]
    return f"SELECT * FROM ({_values(rows)}) AS t(item_no, line_item, is_balance)"


_FACT_COLUMNS = (
    *("figure", "figure_check", "vintage", "row_id", "service_id", "line_item", "unit", "basis"),
    *("currency_reported", "period_start", "period_end", "value_reported", "available_at"),
    "withdrawn",
)
_OF_BATCH = "WHERE service_id BETWEEN $first AND $last"

# All vintages of the issuers from $first to $last, and all that their publications state.
CREATE_FACTS = (
    f"CREATE OR REPLACE TEMP TABLE facts AS "
    f"SELECT {', '.join(_FACT_COLUMNS)} FROM fundamentals {_OF_BATCH}"
)
CREATE_READINGS = (
    "CREATE OR REPLACE TEMP TABLE readings AS "
    # a statement without a date is excluded from every as_of
    f"SELECT * FROM statements {_OF_BATCH} AND available_at IS NOT NULL"
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
    SELECT figure, figure_check, max(vintage) AS vintage, count(*) = 1 AS never_restated,
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
SELECT figure, figure_check, vintage, never_restated, service_id, line_item, item_no, is_balance,
    book_no, period_start, period_end, first_published_at, reported_since,
    available_at AS last_changed_at, value_reported, NOT {_WITHDRAWN} AS is_reported,
    period_end - period_start + 1 AS days,
    days BETWEEN {SHORTEST_YEAR} AND {LONGEST_YEAR} AS is_year
FROM histories JOIN facts USING (figure, figure_check, vintage)
LEFT JOIN items USING (line_item)
LEFT JOIN books ON books.currency = currency_reported AND books.currency = unit
    AND books.basis = facts.basis
"""

# Balances are of a day, all other items of a period.
_INPUTS = """
SELECT row_number() OVER () - 1 AS input_no, figure, figure_check, vintage, never_restated,
    service_id, item_no, book_no, period_start, period_end, first_published_at, last_changed_at,
    value_reported, is_reported, is_year
FROM figures WHERE book_no IS NOT NULL AND is_balance = (period_start IS NULL)
"""

# What an issuer published first of all, and first of a period that is not a full year.
_ISSUERS = """
SELECT service_id, min(publication) AS first_figure,
    min(publication) FILTER (NOT is_year) AS first_short_period
FROM (SELECT service_id, is_year,
          {'published_at': first_published_at, 'period_end': period_end} AS publication
      FROM figures)
GROUP BY service_id
"""

# An issuer's periods of full length. One counts as withdrawn once no figure spans it any more:
# then its reported_since is null.
_SPANS = """
SELECT row_number() OVER () AS year_no, service_id, period_start, period_end,
    any_value(days) AS days, min(first_published_at) AS first_stated_at,
    min(reported_since) FILTER (is_reported) AS year_reported_since,
    max(last_changed_at) AS year_last_changed_at
FROM figures WHERE is_year GROUP BY service_id, period_start, period_end
"""

# A filing may state a single figure over twelve months that are no year of the issuer: a mistyped
# day, or the months up to a quarter. Such a period overlaps a year that ends before it.
_OVERLAPPING = """
SELECT later.year_no, earlier.year_no AS overlapped_no
FROM spans AS later JOIN spans AS earlier
  ON earlier.service_id = later.service_id AND earlier.period_end < later.period_end
 AND earlier.period_end >= later.period_start
"""

# How many line items each of those periods had, on each day on which it got another one.
_LINE_ITEM_COUNTS = """
SELECT year_no, day, sum(count(*)) OVER (PARTITION BY year_no ORDER BY day) AS line_items
FROM (
    SELECT year_no, line_item, min(first_published_at) AS day
    FROM spans JOIN figures USING (service_id, period_start, period_end)
    WHERE year_no IN (SELECT unnest([year_no, overlapped_no]) FROM overlapping)
    GROUP BY year_no, line_item
)
GROUP BY year_no, day
"""

# A period that overlaps an earlier year is a year from the first day on which it has half as many
# line items as that year; until then it says nothing about which year is the latest.
_ACCEPTED = f"""
SELECT year_no, min(day) AS accepted_at FROM (
    SELECT own.year_no, own.day, any_value(own.line_items) AS line_items,
        max(other.line_items) AS overlapped_items
    FROM overlapping JOIN line_item_counts AS own USING (year_no)
    LEFT JOIN line_item_counts AS other
      ON other.year_no = overlapped_no AND other.day <= own.day
    GROUP BY own.year_no, own.day
)
WHERE {STRAY_YEAR} * line_items >= coalesce(overlapped_items, 0)
GROUP BY year_no
"""

# Years with the same end share a year_end_no, since only one of them can be the answer.
_YEARS = """
SELECT spans.* EXCLUDE (first_stated_at),
    coalesce(accepted_at, first_stated_at) AS year_published_at,
    dense_rank() OVER (ORDER BY service_id, period_end) AS year_end_no
FROM spans LEFT JOIN accepted USING (year_no)
WHERE accepted_at IS NOT NULL OR year_no NOT IN (SELECT year_no FROM overlapping)
"""

# The inputs that a year can use: its own, and those of the year before.
_YEAR_INPUTS = """
SELECT year_no, year_end_no, book_no, item_no, FALSE AS is_prior_year, bit, input_no,
    first_published_at, last_changed_at, is_reported
FROM years JOIN inputs USING (service_id, period_end)
JOIN (FROM bits WHERE NOT is_prior_year) USING (item_no)
-- flows must span exactly this year; balances have no start
WHERE inputs.period_start IS NULL OR inputs.period_start = years.period_start
UNION ALL
SELECT year_no, year_end_no, book_no, item_no, TRUE, bit, input_no,
    first_published_at, last_changed_at, is_reported
FROM years JOIN inputs
  ON inputs.service_id = years.service_id AND inputs.period_end = years.period_start - 1
JOIN (FROM bits WHERE is_prior_year) USING (item_no)
WHERE inputs.period_start IS NULL OR is_year
-- if the year before was stated with several first days, the one published first
QUALIFY row_number() OVER (
    PARTITION BY year_no, book_no, item_no ORDER BY first_published_at, inputs.period_start) = 1
"""

# In the order in which they are created.
TABLES = {
    "formula_inputs": _formula_inputs(),
    "needs": _needs(),
    "bits": _bits(),
    "items": _items(),
    "last_withdrawals": _LAST_WITHDRAWALS,
    "books": _BOOKS,
    "figures": _FIGURES,
    "inputs": _INPUTS,
    "issuers": _ISSUERS,
    "spans": _SPANS,
    "overlapping": _OVERLAPPING,
    "line_item_counts": _LINE_ITEM_COUNTS,
    "accepted": _ACCEPTED,
    "years": _YEARS,
    "year_inputs": _YEAR_INPUTS,
}
