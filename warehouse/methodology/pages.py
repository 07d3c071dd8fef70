"""The methodology pages in Markdown, the same on all surfaces.

Each metric and each panel has a page, at its ``methodology_ref``: set, slash, slug.
"""

from collections.abc import Callable, Mapping

from warehouse.methodology import metrics, signals
from warehouse.methodology.metrics import (
    BALANCES,
    FORMULA_BY_SLUG,
    METRIC_DIGITS,
    METRIC_SET,
    Formula,
    Input,
)
from warehouse.methodology.signals import (
    AMOUNT_TIMES,
    CLOSES_AFTER,
    CLOSES_AFTER_DEFAULT,
    FEWEST_AMOUNTS,
    MONEY_BELOW,
    MOST_TENDERERS,
    PANEL_BY_KEY,
    PARTS,
    REEVALUATED,
    SIGNAL_DIGITS,
    SIGNAL_SET,
    Dimension,
    MonthRule,
    Panel,
)
from warehouse.shared.json_encoding import encode_decimal

# The worked examples: a fictional company, in millions. Last year has what formulas need of it.
_THIS_YEAR = {
    "revenue": 1250,
    "cost_of_sales": 775,
    "gross_profit": 475,
    "operating_profit": 210,
    "finance_costs": 28,
    "profit_before_tax": 182,
    "income_tax_expense": 49,
    "profit": 133,
    "profit_attributable": 127,
    "depreciation_amortisation": 64,
    "total_assets": 1640,
    "current_assets": 520,
    "cash": 96,
    "inventories": 148,
    "receivables": 187,
    "total_liabilities": 905,
    "current_liabilities": 310,
    "borrowings_current": 58,
    "borrowings_non_current": 402,
    "total_equity": 735,
    "equity_attributable": 698,
    "cfo": 204,
    "capex": 91,
    "dividends_paid": 44,
}
_LAST_YEAR = {
    "revenue": 1180,
    "operating_profit": 196,
    "profit": 121,
    "total_equity": 655,
    "equity_attributable": 622,
}
_DAYS = 365

YEARS = f"""\
A full year has {metrics.SHORTEST_YEAR} to {metrics.LONGEST_YEAR} days. All inputs of a value have
the same basis and the same currency; flows cover the same days, balances are those of the last
day. Nothing is annualised, converted or assumed to be zero. Last year is the year that ends the
day before this one starts; a balance of last year is the one on that day.

All inputs come from one publication that states every one of them with the value it has today: a
report together with its comparative columns. Which publication that is never changes a value, only
its source: it is the newest on the first day on which there is one. A figure that contradicts
others of its own publication is no input. A figure of last year may come from another publication
if it was never restated, and if both publications state the line by the same element of the
taxonomy and in the purchasing power of the same day (IAS 29).

If an issuer reports a year more than once, in several currencies, on several bases or with
different first days, one of them is used. It is chosen in this order:

1. a consolidated basis before any other;
2. then the one all of whose inputs a publication stated first;
3. then the one with most figures on the day on which anything of the year was first published;
4. then the one in whose currency the issuer had published most figures by that day.

Only figures of line items that some metric needs are counted. Remaining ties are decided by the
first day of the year, then alphabetically. Nothing published later can change the choice for
an earlier day, unless the chosen figures are withdrawn or no longer stated together."""

_REASONS = "\n".join(
    f"| `{reason}` | {words} |" for reason, words in metrics.ABSENT_REASONS.items()
)

AS_OF = f"""\
The year is the issuer's latest one of which any figure was published by `as_of`, whether or not
the metric needs that figure. Its value is returned only if a publication had, by then, stated
every input with the value it has today. Otherwise the value is left out; it is never replaced by
an older year:

| reason | the value is left out because |
|---|---|
{_REASONS}

A figure without evidence of its publication date counts as not published. An issuer that has
published no full year by `as_of` is counted too: under `short_period` if it has published a period
of another length, otherwise under `input_not_reported`. Twelve months that overlap a year which
ends before them are no year while that one has more than {metrics.STRAY_YEAR} times as many line
items: such periods are mistyped days, or the months up to the end of a quarter."""


def metric_page(slug: str) -> str | None:
    """Return the page of a metric; None if there is no such metric."""
    formula = FORMULA_BY_SLUG.get(slug)
    return None if formula is None else _metric_markdown(formula)


def _metric_markdown(formula: Formula) -> str:
    return f"""\
# {formula.title}

`{METRIC_SET}/{formula.slug}` · unit: {formula.unit}

{formula.description}

## Formula

`{formula.slug} = {formula.expression}`

## Condition

`{formula.condition}`

## Inputs

{_inputs(formula)}

{YEARS}

## Rounding

{METRIC_DIGITS} significant digits, half to even, rounded once at the end from exact decimals.

## What `as_of` means here

{AS_OF}

## Example

{_example(formula)}
"""


def _inputs(formula: Formula) -> str:
    rows = [
        f"| `{figure.line_item}` | {_year(figure)} year | {_kind(figure)} |"
        for figure in formula.inputs
    ]
    return "\n".join(["| line item | of | kind |", "|---|---|---|", *rows])


def _year(figure: Input) -> str:
    return "last" if figure.last_year else "this"


def _kind(figure: Input) -> str:
    return "balance at the last day" if figure.line_item in BALANCES else "flow over the year"


def _example(formula: Formula) -> str:
    figures = {
        figure: (_LAST_YEAR if figure.last_year else _THIS_YEAR)[figure.line_item]
        for figure in formula.inputs
    }
    value = formula.value(list(figures.values()), _DAYS)
    if value is None:
        raise ValueError(f"{formula.slug}: the example does not meet the condition")
    inputs = ", ".join(f"{figure.name} {amount}" for figure, amount in figures.items())
    days = f", a year of {_DAYS} days" if formula.unit == "days" else ""
    return f"With {inputs} (millions){days}: `{encode_decimal(value).decode()}`."


_MONTHS: Mapping[MonthRule, str] = {
    "tender": "A process belongs to the month of its first release with a tender.",
    "first award": "A process belongs to the month of its first award.",
    "award": "An award belongs to the month of its date.",
    "year end": "A row belongs to the month in which the issuer's financial year ends.",
}
_UNDATED = (
    "An award without a date belongs to the month of the first release that contains it. "
    "Awards count while their status is active or not stated."
)
_DIMENSIONS: Mapping[Dimension, str] = {
    "all": "the whole country",
    "category": "category as published by the portal",
    "procurement_method": "procurement method",
    "buyer": "buyer",
    "issuer": "listed issuer",
}


def panel_page(key: str) -> str | None:
    """Return the page of a panel; None if there is no such panel."""
    panel = PANEL_BY_KEY.get(key)
    return None if panel is None else _panel_markdown(panel)


def panel_pages() -> dict[str, str]:
    """Return the page of every panel by its methodology_ref."""
    return {f"{SIGNAL_SET}/{panel.key}": _panel_markdown(panel) for panel in PANEL_BY_KEY.values()}


def _panel_markdown(panel: Panel) -> str:
    parts = (
        f"# {panel.title}",
        f"`{SIGNAL_SET}/{panel.key}`. It measures what portals publish; it is not a judgement on "
        "anyone.",
        f"## Measures\n\n{measures(panel)}",
        f"## Scope\n\n{scope(panel)}",
        f"## When it was known\n\n{CLOSING}",
        f"## How a process is read\n\n{READING}",
        f"## Numbers that cannot be\n\n{IMPLAUSIBLE}",
        f"## Figures\n\n{FIGURES}",
    )
    return "\n\n".join(parts) + "\n"


def measures(panel: Panel) -> str:
    """Return the measures of a panel as a Markdown table."""
    head = "| measure | unit | meaning |\n|---|---|---|\n"
    return head + "\n".join(
        f"| `{measure.key}` | {measure.unit}{', per currency' if measure.per_currency else ''} "
        f"| {measure.meaning} |"
        for measure in panel.measures
    )


def scope(panel: Panel) -> str:
    """Return what a panel counts as a Markdown list."""
    broken_down = " and ".join(_DIMENSIONS[dimension] for dimension in panel.dimensions)
    undated = () if panel.month == "tender" else (_UNDATED,)
    lines = (
        f"By country, month and {broken_down}.",
        " ".join((_MONTHS[panel.month], *undated)),
        f"Requires {panel.needs}.",
        f"`n_eligible`: {panel.eligible}.",
        f"`n_observed`: those that {panel.observed}.",
        *panel.notes,
    )
    return "\n".join(f"- {line}" for line in lines)


_EXCEPTIONS = "".join(f", {days} in {country}" for country, days in CLOSES_AFTER.items())
CLOSING = (
    f"A month closes {CLOSES_AFTER_DEFAULT} days after its end{_EXCEPTIONS}, as soon as the "
    "country's portals have been read on that day or later. It contains only what was public on "
    f"that day. At each of the {REEVALUATED} following closings the month is computed again: if "
    "the value or a count has changed, a new vintage is appended, dated by that closing. Later "
    "changes are ignored. Months before the first release of a country are not measured. With "
    "`as_of`, a month appears once it has closed, in the vintage of that day."
)
READING = (
    "A process is one ocid of one portal and counts once. It is built from the releases published "
    "by the closing day, each as it read on that day, merged by the rules of OCDS: for each member "
    "the newest release that states it counts, awards are matched by their id, and the suppliers "
    "of an award are those of the newest release that names any.\n\n"
    "Parties that are not established to be organisations are never named. A party is withheld "
    "from every row as soon as one release, even a later one, leaves this open. Withheld parties "
    "count by a keyed hash, so shares and concentrations are exact, and `n_withheld` is their "
    "number. A release with several awards does not say which of them went to a withheld "
    "supplier: if it has one such supplier, the awards that name no supplier are attributed to "
    "it; if it has several, those awards are not observed."
)
IMPLAUSIBLE = (
    "Portals make typing errors. A number that cannot be is served on its release as the portal "
    "states it, and `implausible` has its path, such as `awards[0].value.amount`. Panels and "
    "facts are computed as if it were not stated: a process keeps the value that an earlier "
    "release states. Such a number is\n\n"
    f"- a number of tenderers that is no count, or above {MOST_TENDERERS:,}. If a release lists "
    "more tenderers than that, they are not counted either;\n"
    "- an amount of a tender, award or contract that is not positive (where a portal writes 0 for "
    f"an unknown amount, none is stated), or of {MONEY_BELOW:,} or more;\n"
    f"- an amount more than {AMOUNT_TIMES:,} times the 99.9th percentile of its portal and "
    "currency. The percentile (nearest rank) is that of all amounts of tenders, awards and "
    "contracts whose releases became known before the month in which this one did. Each process "
    "counts an amount once, in the first month that has it, and those that were themselves above "
    f"the limit of their month do not count. While fewer than {FEWEST_AMOUNTS:,} are known there "
    "is no such limit: of so few the percentile would be the largest.\n\n"
    "So a mark depends only on what was known before: nothing published later adds or removes one."
)
FIGURES = (
    f"`value` has {SIGNAL_DIGITS} significant digits (and at most 18 decimal places), rounded half "
    "to even from exact sums. It is null if nothing was observed; then `n_observed` is 0. "
    "From the first month in which a country, category or method is in scope, every closed month "
    "has a row while the country publishes; where nothing was in scope, `n_eligible` is 0 and "
    "there is no value. Such an empty month has its row from the first closing by which a release "
    "dated after the month was public; without one there is no row, because nothing is known of "
    "the months since a country's last release. "
    "`coverage` is `n_observed` / `n_eligible`. Amounts are never converted: each currency has its "
    "own row, whose `n_eligible` counts every process in scope, whatever its currency. Where no "
    "process states an amount, there is a row in the country's own currency. Amounts are read to "
    f"1/{PARTS:,} of a currency unit."
)


SLUGS: Mapping[str, tuple[str, ...]] = {
    metrics.METRIC_SET: tuple(metrics.FORMULA_BY_SLUG),
    signals.SIGNAL_SET: tuple(signals.PANEL_BY_KEY),
}
_PAGES: Mapping[str, Callable[[str], str | None]] = {
    metrics.METRIC_SET: metric_page,
    signals.SIGNAL_SET: panel_page,
}
REFS = tuple(f"{name}/{slug}" for name, slugs in SLUGS.items() for slug in slugs)


def methodology_page(set_name: str, slug: str) -> str | None:
    """Return the page of a metric or panel; None if there is none."""
    return _PAGES[set_name](slug) if set_name in _PAGES else None
