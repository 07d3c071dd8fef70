"""For each issuer, metric and year: which publication counts, for which days, or why none does.

There is no look-ahead: what is chosen for a day depends on nothing published after it. That is why
books are ranked by when a publication had stated all inputs in them and by what existed on the
first day of the year's publication, never by what came later.
"""

from warehouse.methodology.metrics import FORMULAS

_MAX_INPUTS = max(len(formula.inputs) for formula in FORMULAS)
_INPUT_COLUMNS = ", ".join(
    f"max(statement_no) FILTER (input_position = {position}) AS input_{position}"
    for position in range(_MAX_INPUTS)
)

# The day on which anything of a year was first published, in any book.
_FIRST_DAYS = """
SELECT year_end_no, min(first_published_at) AS first_day
FROM year_inputs WHERE NOT is_prior_year GROUP BY year_end_no
"""

# How many figures of a year in a book were published on that first day.
_FIRST_DAY_FIGURES = """
SELECT year_no, book_no, count(*) AS first_day_figures
FROM year_inputs JOIN first_days USING (year_end_no)
WHERE NOT is_prior_year AND first_published_at = first_day GROUP BY year_no, book_no
"""

# How many figures the issuer had published in each currency by that day; only for issuers that
# report in several currencies.
_CURRENCY_FIGURES = """
WITH with_several AS (
    SELECT service_id
    FROM (SELECT DISTINCT service_id, book_no FROM inputs) JOIN books USING (book_no)
    GROUP BY service_id HAVING count(DISTINCT currency) > 1
)
SELECT year_end_no, currency, count(*) AS figures_in_currency
FROM (SELECT DISTINCT year_end_no, service_id FROM years) JOIN first_days USING (year_end_no)
JOIN inputs USING (service_id) JOIN books USING (book_no)
WHERE service_id IN (FROM with_several) AND first_published_at <= first_day
GROUP BY year_end_no, currency
"""

# Books in order of preference: consolidated, complete earliest, most figures on the first day, in
# the currency used most by then.
_RANKED = """
SELECT year_end_no, metric_no, year_no, book_no, days, publication_no,
    greatest(complete_at, year_published_at) AS complete_at,
    greatest(current_at, year_published_at, year_reported_since) AS current_at,
    publication_no IS NOT NULL AND year_reported_since IS NOT NULL AS is_current,
    row_number() OVER (
        PARTITION BY year_end_no, metric_no
        ORDER BY consolidated DESC, greatest(complete_at, year_published_at),
            -- the last two are arbitrary but fixed: a rebuild must choose the same book
            first_day_figures DESC NULLS LAST, figures_in_currency DESC NULLS LAST,
            period_start, book_no
    ) AS rank
FROM options JOIN years USING (year_no) JOIN books USING (book_no)
LEFT JOIN first_day_figures USING (year_no, book_no)
LEFT JOIN currency_figures USING (year_end_no, currency)
"""

# Since when no publication states the current values of a year and book any more: since an input,
# or the last figure that spans the year, was withdrawn, else since the last change of any input.
_ENDED = """
SELECT year_no, book_no, metric_no,
    coalesce(
        least(
            min(last_changed_at) FILTER (NOT is_reported),
            any_value(CASE WHEN year_reported_since IS NULL THEN year_last_changed_at END)),
        max(last_changed_at)) AS ended_at
FROM (FROM ranked WHERE NOT is_current) JOIN years USING (year_no)
JOIN formula_inputs USING (metric_no)
JOIN year_inputs USING (year_no, book_no, bit)
GROUP BY year_no, book_no, metric_no
"""

# The first book that has current values in one publication. It answers only from the day on which
# the last one ranked before it ended.
_CHOSEN = """
SELECT ranked.* EXCLUDE (rank, current_at),
    -- before that day the other book was the answer: this one must not answer for it
    greatest(current_at, (
        CASE WHEN rank > 1 THEN max(ended_at) OVER (
            PARTITION BY year_end_no, metric_no ORDER BY rank
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) END)) AS current_at
FROM ranked LEFT JOIN ended USING (year_no, book_no, metric_no)
QUALIFY row_number() OVER (
    PARTITION BY year_end_no, metric_no ORDER BY is_current DESC, rank) = 1
"""

# The statements that a value is computed from, by their position in the formula.
_CITED = f"""
SELECT year_end_no, metric_no, {_INPUT_COLUMNS}
FROM (FROM chosen WHERE is_current) JOIN formula_inputs USING (metric_no)
JOIN (FROM usable WHERE current_at IS NOT NULL)
    USING (year_no, book_no, publication_no, bit)
GROUP BY year_end_no, metric_no
"""

# A year is the latest one, complete or not, from the day any figure of it is published until a
# later year is. That holds for every metric, whatever its inputs.
_CANDIDATES = """
SELECT *, min(published_at) OVER (
        PARTITION BY service_id ORDER BY period_end
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS next_at
FROM (
    SELECT year_end_no, any_value(service_id) AS service_id, any_value(period_end) AS period_end,
        min(year_published_at) AS published_at
    FROM years GROUP BY year_end_no
)
"""

# One book has all inputs, but nothing states their current values together; is_reported if none
# of them, nor the year itself, was withdrawn.
_APART = """
SELECT year_end_no, metric_no, bool_or(reported & needed = needed) AS is_reported FROM (
    SELECT year_end_no, year_no, book_no, bit_or(1::BIGINT << bit) AS published,
        coalesce(bit_or(1::BIGINT << bit)
            FILTER (is_reported AND year_reported_since IS NOT NULL), 0) AS reported
    FROM year_inputs JOIN years USING (year_no, year_end_no)
    GROUP BY year_end_no, year_no, book_no
) JOIN needs ON published & needed = needed
ANTI JOIN (FROM chosen WHERE is_current) AS current USING (year_end_no, metric_no)
GROUP BY year_end_no, metric_no
"""

# No book has all inputs, but one would if currencies could be mixed.
_MIXED_CURRENCY = """
SELECT DISTINCT year_end_no, metric_no FROM (
    SELECT year_end_no, year_no, basis, metric_no
    -- two currencies are two books; their figures are never combined, as that would need a rate
    FROM year_inputs JOIN formula_inputs USING (bit) JOIN books USING (book_no)
    WHERE year_end_no IN (SELECT year_end_no FROM currency_figures)
    GROUP BY year_end_no, year_no, basis, metric_no
    HAVING bit_or(1::BIGINT << bit) = (
        SELECT needed FROM needs WHERE needs.metric_no = formula_inputs.metric_no)
)
"""

# The metric needs the year before, and that period was not a full year.
_SHORT_PERIOD = """
SELECT DISTINCT year_inputs.year_end_no, formula_inputs.metric_no
FROM years JOIN inputs
  ON inputs.service_id = years.service_id AND inputs.period_end = years.period_start - 1
JOIN formula_inputs
  ON formula_inputs.item_no = inputs.item_no AND formula_inputs.is_prior_year
JOIN year_inputs
  ON year_inputs.year_no = years.year_no AND year_inputs.book_no = inputs.book_no
 AND year_inputs.item_no = inputs.item_no AND NOT year_inputs.is_prior_year
WHERE NOT inputs.is_year
"""

_OUTCOMES = """
SELECT candidates.*, metric_no, chosen.days, chosen.complete_at, chosen.current_at,
    cited.* EXCLUDE (year_end_no, metric_no), years.period_start, books.basis, books.currency,
    CASE WHEN chosen.is_current THEN NULL
         WHEN apart.is_reported THEN 'inputs_not_comparable'
         WHEN apart.year_end_no IS NOT NULL THEN 'input_not_reported'
         WHEN mixed_currency.year_end_no IS NOT NULL THEN 'mixed_currency'
         WHEN short_period.year_end_no IS NOT NULL THEN 'short_period'
         ELSE 'input_not_reported' END AS reason
FROM candidates CROSS JOIN needs
LEFT JOIN chosen USING (year_end_no, metric_no)
LEFT JOIN cited USING (year_end_no, metric_no)
LEFT JOIN years USING (year_no) LEFT JOIN books USING (book_no)
LEFT JOIN apart ON apart.year_end_no = candidates.year_end_no
    AND apart.metric_no = needs.metric_no
LEFT JOIN mixed_currency ON mixed_currency.year_end_no = candidates.year_end_no
    AND mixed_currency.metric_no = needs.metric_no
LEFT JOIN short_period ON short_period.year_end_no = candidates.year_end_no
    AND short_period.metric_no = needs.metric_no
"""

# In the order in which they are created, after those of ``publications``.
TABLES = {
    "first_days": _FIRST_DAYS,
    "first_day_figures": _FIRST_DAY_FIGURES,
    "currency_figures": _CURRENCY_FIGURES,
    "ranked": _RANKED,
    "ended": _ENDED,
    "chosen": _CHOSEN,
    "cited": _CITED,
    "candidates": _CANDIDATES,
    "apart": _APART,
    "mixed_currency": _MIXED_CURRENCY,
    "short_period": _SHORT_PERIOD,
    "outcomes": _OUTCOMES,
}
# Those that are read after the choice; the others can be dropped.
TABLES_READ_LATER = {"stated", "outcomes", "issuers", "candidates", "needs"}
