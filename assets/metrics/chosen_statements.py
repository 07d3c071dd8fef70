"""For each issuer, metric and year: which statement counts, for which days, or why none does.

There is no look-ahead: what is chosen for a day depends on nothing published after it. That is why
statements are ranked by when they were complete and by what existed on the first day of the year's
publication, never by what came later.
"""

from warehouse.methodology.metrics import FORMULAS

_SLUGS = "[" + ", ".join(f"'{formula.slug}'" for formula in FORMULAS) + "]"
_MAX_INPUTS = max(len(formula.inputs) for formula in FORMULAS)
_INPUT_COLUMNS = ", ".join(
    f"max(input_no) FILTER (input_position = {position}) AS input_{position}"
    for position in range(_MAX_INPUTS)
)

# A statement is a year in one book, seen by one metric: complete if it has all inputs.
_STATEMENTS = f"""
SELECT year_no, book_no, metric_no,
    -- the comparative of last year does not publish this year
    min(first_published_at) FILTER (NOT is_prior_year) AS published_at,
    count(*) = any_value(input_count) AS complete, max(first_published_at) AS complete_at,
    max(last_changed_at) AS current_at, bool_and(is_reported) AS is_reported,
    min(last_changed_at) FILTER (NOT is_reported) AS withdrawn_at, {_INPUT_COLUMNS}
FROM year_inputs JOIN formula_inputs USING (item_no, is_prior_year)
GROUP BY year_no, book_no, metric_no
"""

# The day on which anything of a year was first published, in any book.
_FIRST_DAYS = """
SELECT year_end_no, min(first_published_at) AS first_day
FROM year_inputs WHERE NOT is_prior_year GROUP BY year_end_no
"""

# How many figures of a statement were published on that first day.
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

# Complete statements in order of preference: consolidated, complete earliest, most figures on the
# first day, in the currency used most by then.
_RANKED = """
SELECT year_end_no, metric_no, year_no, book_no, days, COLUMNS('^input_[0-9]$'),
    greatest(complete_at, year_published_at) AS complete_at,
    greatest(current_at, year_reported_since) AS current_at,
    is_reported AND year_reported_since IS NOT NULL AS is_reported,
    -- withdrawn with any of its inputs, or with the last figure that spans the year
    least(withdrawn_at, CASE WHEN year_reported_since IS NULL THEN year_last_changed_at END)
        AS withdrawn_at,
    row_number() OVER (
        PARTITION BY year_end_no, metric_no
        ORDER BY consolidated DESC, greatest(complete_at, year_published_at),
            -- the last two are arbitrary but fixed: a rebuild must choose the same statement
            first_day_figures DESC NULLS LAST, figures_in_currency DESC NULLS LAST,
            period_start, book_no
    ) AS rank
FROM statements JOIN years USING (year_no) JOIN books USING (book_no)
LEFT JOIN first_day_figures USING (year_no, book_no)
LEFT JOIN currency_figures USING (year_end_no, currency)
WHERE complete
"""

# The first statement that is still reported. It answers only from the day on which the last one
# ranked before it was withdrawn.
_CHOSEN = """
SELECT ranked.* EXCLUDE (rank, current_at, withdrawn_at),
    -- before that day the withdrawn statement was the answer: this one must not answer for it
    greatest(current_at, (
        CASE WHEN rank > 1 THEN max(withdrawn_at) OVER (
            PARTITION BY year_end_no, metric_no ORDER BY rank
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) END)) AS current_at
FROM ranked
QUALIFY row_number() OVER (
    PARTITION BY year_end_no, metric_no ORDER BY is_reported DESC, rank) = 1
"""

# A year is the latest one, complete or not, from the day any of its own inputs is published until
# a later year is.
_CANDIDATES = """
SELECT *, min(published_at) OVER (
        PARTITION BY service_id, metric_no ORDER BY period_end
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS next_at
FROM (
    SELECT year_end_no, metric_no, any_value(service_id) AS service_id,
        any_value(period_end) AS period_end, min(published_at) AS published_at
    FROM statements JOIN years USING (year_no)
    WHERE published_at IS NOT NULL GROUP BY year_end_no, metric_no
)
"""

# No statement is complete, but one would be if currencies could be mixed.
_MIXED_CURRENCY = """
SELECT DISTINCT year_end_no, metric_no FROM (
    SELECT year_end_no, year_no, basis, metric_no
    -- two currencies are two books; their figures are never combined, as that would need a rate
    FROM (FROM candidates ANTI JOIN chosen USING (year_end_no, metric_no))
    JOIN year_inputs USING (year_end_no)
    JOIN formula_inputs USING (metric_no, item_no, is_prior_year)
    JOIN books USING (book_no)
    WHERE year_end_no IN (SELECT year_end_no FROM currency_figures)
    -- as complete as a statement must be, over all currencies of one basis
    GROUP BY year_end_no, year_no, basis, metric_no
    HAVING count(DISTINCT input_position) = any_value(input_count)
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
SELECT candidates.*, chosen.* EXCLUDE (year_end_no, metric_no, year_no, book_no, is_reported),
    years.period_start, books.basis, books.currency,
    CASE WHEN chosen.is_reported THEN NULL
         WHEN chosen.year_end_no IS NOT NULL THEN 'input_not_reported'
         WHEN mixed_currency.year_end_no IS NOT NULL THEN 'mixed_currency'
         WHEN short_period.year_end_no IS NOT NULL THEN 'short_period'
         ELSE 'input_not_reported' END AS reason
FROM candidates
LEFT JOIN chosen USING (year_end_no, metric_no)
LEFT JOIN years USING (year_no) LEFT JOIN books USING (book_no)
LEFT JOIN mixed_currency ON mixed_currency.year_end_no = candidates.year_end_no
    AND mixed_currency.metric_no = candidates.metric_no
LEFT JOIN short_period ON short_period.year_end_no = candidates.year_end_no
    AND short_period.metric_no = candidates.metric_no
"""

# In the order in which they are created, after those of ``yearly_inputs``.
TABLES = {
    "statements": _STATEMENTS,
    "first_days": _FIRST_DAYS,
    "first_day_figures": _FIRST_DAY_FIGURES,
    "currency_figures": _CURRENCY_FIGURES,
    "ranked": _RANKED,
    "chosen": _CHOSEN,
    "candidates": _CANDIDATES,
    "mixed_currency": _MIXED_CURRENCY,
    "short_period": _SHORT_PERIOD,
    "outcomes": _OUTCOMES,
}
# Those that are read after the choice; the others can be dropped.
TABLES_READ_LATER = {"inputs", "outcomes", "issuers", "candidates", "formula_inputs"}

# Why a value is absent, for every day on which it is. Each issuer is counted exactly once per
# metric on every day from its first figure on: with a value, or in one of these intervals. The
# ``valued`` table says which outcomes meet the condition of their formula.

# A reason that holds for a year whatever the day; its row is kept even if the interval is empty.
_ABSENT_FOR_THE_YEAR = """
SELECT service_id, metric_no, period_end, coalesce(reason, 'denominator_not_positive') AS reason,
    published_at AS holds_from,
    CASE WHEN next_at IS NOT NULL THEN greatest(published_at, next_at) END AS holds_until,
    TRUE AS keep_if_empty
FROM outcomes LEFT JOIN valued USING (year_end_no, metric_no)
WHERE reason IS NOT NULL OR NOT condition_met
"""

# From the first input of the year until the last one was published.
_ABSENT_UNTIL_COMPLETE = """
SELECT service_id, metric_no, period_end, 'completed_after_as_of',
    published_at, least(complete_at, next_at), FALSE
FROM outcomes JOIN valued USING (year_end_no, metric_no) WHERE condition_met
"""

# From then on until the last revision: an earlier value is not served, nor the later one.
_ABSENT_UNTIL_REVISED = """
SELECT service_id, metric_no, period_end, 'revised_after_as_of',
    greatest(complete_at, published_at), least(current_at, next_at), FALSE
FROM outcomes JOIN valued USING (year_end_no, metric_no) WHERE condition_met
"""

# Before any input of any full year is published: the issuer is covered and has no value.
_ABSENT_BEFORE_FIRST_YEAR = """
SELECT * FROM (
    WITH first_candidates AS (
        SELECT service_id, metric_no, min(published_at) AS candidate_at
        FROM candidates GROUP BY service_id, metric_no
    ), issuer_metrics AS (
        SELECT issuers.*, metric_no, candidate_at
        FROM issuers CROSS JOIN (SELECT DISTINCT metric_no FROM formula_inputs)
        LEFT JOIN first_candidates USING (service_id, metric_no)
    )
    SELECT service_id, metric_no, first_figure.period_end, 'input_not_reported',
        first_figure.published_at,
        least(first_short_period.published_at, first_year.published_at, candidate_at), FALSE
    FROM issuer_metrics
    UNION ALL
    SELECT service_id, metric_no, first_short_period.period_end, 'short_period',
        first_short_period.published_at, least(first_year.published_at, candidate_at), FALSE
    FROM issuer_metrics WHERE first_short_period IS NOT NULL
    UNION ALL
    SELECT service_id, metric_no, first_year.period_end, 'input_not_reported',
        first_year.published_at, candidate_at, FALSE
    FROM issuer_metrics WHERE first_year IS NOT NULL
)
"""

ABSENT = f"""
SELECT service_id, {_SLUGS}[metric_no + 1] AS metric, period_end, reason, holds_from, holds_until
FROM (
    {_ABSENT_FOR_THE_YEAR} UNION ALL {_ABSENT_UNTIL_COMPLETE} UNION ALL {_ABSENT_UNTIL_REVISED}
    UNION ALL {_ABSENT_BEFORE_FIRST_YEAR}
)
WHERE keep_if_empty OR holds_until IS NULL OR holds_from < holds_until
ORDER BY service_id, metric, period_end, holds_from
"""
