"""For each issuer, metric and year: which statement of it counts, and from which day to which.

What is chosen for a day depends on nothing that was published after it: that is why a
statement counts by when it was complete, and by what was there on the year's first day.
"""

from warehouse.methodology.metrics import FORMULAS

_PLACES = max(len(formula.inputs) for formula in FORMULAS)
_IDS = ", ".join(f"max(id) FILTER (place = {n}) AS i{n}" for n in range(_PLACES))

_STATEMENTS = f"""
SELECT year, book, metric, min(first_at) FILTER (NOT last_year) AS published_at,
    count(*) = any_value(needed) AS complete, max(first_at) AS complete_at,
    max(current_at) AS current_at, bool_and(alive) AS alive,
    min(current_at) FILTER (NOT alive) AS died_at, {_IDS}
FROM reach JOIN formulas USING (item, last_year)
GROUP BY year, book, metric
"""

_FIRST_DAYS = """
SELECT ending, min(first_at) AS first_day FROM reach WHERE NOT last_year GROUP BY ending
"""

_OF_THAT_DAY = """
SELECT year, book, count(*) AS figures_then FROM reach JOIN first_days USING (ending)
WHERE NOT last_year AND first_at = first_day GROUP BY year, book
"""

# Only where there is a choice of currencies.
_MONEY = """
WITH several AS (
    SELECT service_id FROM (SELECT DISTINCT service_id, book FROM inputs) JOIN books USING (book)
    GROUP BY service_id HAVING count(DISTINCT currency) > 1
)
SELECT ending, currency, count(*) AS money_then
FROM (SELECT DISTINCT ending, service_id FROM years) JOIN first_days USING (ending)
JOIN inputs USING (service_id) JOIN books USING (book)
WHERE service_id IN (FROM several) AND first_at <= first_day
GROUP BY ending, currency
"""

_RANKED = """
SELECT ending, metric, year, book, days, COLUMNS('^i[0-9]$'),
    greatest(complete_at, known_at) AS complete_at, greatest(current_at, stands_at) AS current_at,
    alive AND stands_at IS NOT NULL AS alive,
    least(died_at, CASE WHEN stands_at IS NULL THEN last_at END) AS died_at,
    row_number() OVER (
        PARTITION BY ending, metric
        ORDER BY consolidated DESC, greatest(complete_at, known_at),
            figures_then DESC NULLS LAST, money_then DESC NULLS LAST, period_start, book
    ) AS rank
FROM statements JOIN years USING (year) JOIN books USING (book)
LEFT JOIN of_that_day USING (year, book) LEFT JOIN money USING (ending, currency)
WHERE complete
"""

# A statement answers from the day on which the last one ranked before it was withdrawn.
_CHOSEN = """
SELECT ranked.* EXCLUDE (rank, current_at, died_at),
    greatest(current_at, (
        CASE WHEN rank > 1 THEN max(died_at) OVER (
            PARTITION BY ending, metric ORDER BY rank
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) END)) AS current_at
FROM ranked
QUALIFY row_number() OVER (PARTITION BY ending, metric ORDER BY alive DESC, rank) = 1
"""

_CANDIDATES = """
SELECT *, min(published_at) OVER (
        PARTITION BY service_id, metric ORDER BY period_end
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS next_at
FROM (
    SELECT ending, metric, any_value(service_id) AS service_id,
        any_value(period_end) AS period_end, min(published_at) AS published_at
    FROM statements JOIN years USING (year)
    WHERE published_at IS NOT NULL GROUP BY ending, metric
)
"""

_MIXED = """
SELECT DISTINCT ending, metric FROM (
    SELECT ending, year, basis, metric
    FROM (FROM candidates ANTI JOIN chosen USING (ending, metric))
    JOIN reach USING (ending) JOIN formulas USING (metric, item, last_year) JOIN books USING (book)
    WHERE ending IN (SELECT ending FROM money)
    GROUP BY ending, year, basis, metric HAVING count(DISTINCT place) = any_value(needed)
)
"""

_SHORT = """
SELECT DISTINCT reach.ending, formulas.metric
FROM years JOIN inputs
  ON inputs.service_id = years.service_id AND inputs.period_end = years.period_start - 1
JOIN formulas ON formulas.item = inputs.item AND formulas.last_year
JOIN reach
  ON reach.year = years.year AND reach.book = inputs.book AND reach.item = inputs.item
 AND NOT reach.last_year
WHERE NOT inputs.is_year
"""

_OUTCOMES = """
SELECT candidates.*, chosen.* EXCLUDE (ending, metric, year, book, alive),
    years.period_start, books.basis, books.currency,
    CASE WHEN chosen.alive THEN NULL
         WHEN chosen.ending IS NOT NULL THEN 'input_not_reported'
         WHEN mixed.ending IS NOT NULL THEN 'mixed_currency'
         WHEN short.ending IS NOT NULL THEN 'short_period'
         ELSE 'input_not_reported' END AS reason
FROM candidates
LEFT JOIN chosen USING (ending, metric)
LEFT JOIN years USING (year) LEFT JOIN books USING (book)
LEFT JOIN mixed ON mixed.ending = candidates.ending AND mixed.metric = candidates.metric
LEFT JOIN short ON short.ending = candidates.ending AND short.metric = candidates.metric
"""

TABLES = {
    "statements": _STATEMENTS,
    "first_days": _FIRST_DAYS,
    "of_that_day": _OF_THAT_DAY,
    "money": _MONEY,
    "ranked": _RANKED,
    "chosen": _CHOSEN,
    "candidates": _CANDIDATES,
    "mixed": _MIXED,
    "short": _SHORT,
    "outcomes": _OUTCOMES,
}


_SLUGS = "[" + ", ".join(f"'{formula.slug}'" for formula in FORMULAS) + "]"

# A reason that holds for a year whatever the day.
_FOR_THE_YEAR = """
SELECT service_id, metric, period_end, coalesce(reason, 'denominator_not_positive') AS reason,
    published_at AS holds_from,
    CASE WHEN next_at IS NOT NULL THEN greatest(published_at, next_at) END AS holds_until,
    TRUE AS kept
FROM outcomes LEFT JOIN valued USING (ending, metric)
WHERE reason IS NOT NULL OR NOT positive
"""

_COMPLETED = """
SELECT service_id, metric, period_end, 'completed_after_as_of',
    published_at, least(complete_at, next_at), FALSE
FROM outcomes JOIN valued USING (ending, metric) WHERE positive
"""

_REVISED = """
SELECT service_id, metric, period_end, 'revised_after_as_of',
    greatest(complete_at, published_at), least(current_at, next_at), FALSE
FROM outcomes JOIN valued USING (ending, metric) WHERE positive
"""

# Before any input of any full year is published: the issuer is covered and has no value.
_BEFORE = """
SELECT * FROM (
    WITH firsts AS (
        SELECT service_id, metric, min(published_at) AS first_at
        FROM candidates GROUP BY service_id, metric
    ), each AS (
        SELECT issuers.*, metric, first_at
        FROM issuers CROSS JOIN (SELECT DISTINCT metric FROM formulas)
        LEFT JOIN firsts USING (service_id, metric)
    )
    SELECT service_id, metric, seen.of, 'input_not_reported',
        seen.day, least(short.day, year.day, first_at), FALSE FROM each
    UNION ALL
    SELECT service_id, metric, short.of, 'short_period',
        short.day, least(year.day, first_at), FALSE FROM each WHERE short IS NOT NULL
    UNION ALL
    SELECT service_id, metric, year.of, 'input_not_reported',
        year.day, first_at, FALSE FROM each WHERE year IS NOT NULL
)
"""

# What is read after the choice is made.
NEEDED = {"inputs", "outcomes", "issuers", "candidates", "formulas"}
ABSENT = f"""
SELECT service_id, {_SLUGS}[metric + 1] AS metric, period_end, reason, holds_from, holds_until
FROM ({_FOR_THE_YEAR} UNION ALL {_COMPLETED} UNION ALL {_REVISED} UNION ALL {_BEFORE})
WHERE kept OR holds_until IS NULL OR holds_from < holds_until
ORDER BY service_id, metric, period_end, holds_from
"""
