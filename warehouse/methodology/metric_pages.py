"""The page of each metric, in Markdown: formula, inputs, condition, rounding, an example."""

from warehouse.json_encoding import number
from warehouse.methodology.metrics import BALANCES, BY_SLUG, DIGITS, SET, Formula, Input

# A company that does not exist, in millions: this year, and last year where a formula asks.
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

YEARS = """\
A full year has 350 to 380 days. All inputs of a value have the same basis and the same currency;
flows span the same days, balances stand at the last of them. Nothing is annualised, converted or
taken as zero. Last year is the year that ends the day before this one starts; a balance of last
year is the one at that day.

Where an issuer reports a year more than once, in several currencies, on several bases or with
another first day, one statement of it is used, the first of:

1. on a consolidated basis before any other;
2. of those, the one whose inputs were complete first;
3. of those, the one with most figures on the day on which anything of the year was first published;
4. of those, the one in whose currency the issuer had published most figures by that day.

Only figures of line items that some metric needs are counted; what is still equal is decided by the
first day of the year, then by the alphabet. Nothing published later can change the choice for
an earlier day, unless the statement chosen is withdrawn."""

AS_OF = """\
For each issuer and metric the year is the latest one of which any input was published by `as_of`.
Its value is returned only if every input had, by then, the value it has today. Otherwise the value
is left out, and never replaced by an older year:

| reason | the year's value is left out because |
|---|---|
| `completed_after_as_of` | an input was first published after `as_of` |
| `revised_after_as_of` | every input was published, and one has another value since |
| `input_not_reported` | an input was never published, or has been withdrawn |
| `mixed_currency` | its inputs were published, but never all in one currency |
| `short_period` | it needs a full year where a period of another length was published |
| `denominator_not_positive` | the condition above is not met |

A figure without evidence of the day on which it was published counts as not published. An issuer
that has published no full year by `as_of` is counted too: under `short_period` if it has published
a period of another length, else under `input_not_reported`."""


def metric_page(slug: str) -> str | None:
    """Write the page of a metric; None for a slug that is not in the set."""
    formula = BY_SLUG.get(slug)
    return None if formula is None else _page(formula)


def _page(formula: Formula) -> str:
    return f"""\
# {formula.title}

`{SET}/{formula.slug}` · unit: {formula.unit}

{formula.words}

## Formula

`{formula.slug} = {formula.shown}`

## Condition

`{formula.condition}`

## Inputs

{_inputs(formula)}

{YEARS}

## Rounding

{DIGITS} significant digits, half to even, rounded once at the end from exact decimal figures.

## What `as_of` means here

{AS_OF}

## Example

{_example(formula)}
"""


def _inputs(formula: Formula) -> str:
    rows = [
        f"| `{each.line_item}` | {'last' if each.last_year else 'this'} year | {_kind(each)} |"
        for each in formula.inputs
    ]
    return "\n".join(["| line item | of | kind |", "|---|---|---|", *rows])


def _kind(needed: Input) -> str:
    return "balance at the last day" if needed.line_item in BALANCES else "flow over the year"


def _example(formula: Formula) -> str:
    figures = {
        each: (_LAST_YEAR if each.last_year else _THIS_YEAR)[each.line_item]
        for each in formula.inputs
    }
    value = formula.value(list(figures.values()), _DAYS)
    if value is None:
        raise ValueError(f"{formula.slug}: the example does not meet the condition")
    told = ", ".join(f"{each.name} {figure}" for each, figure in figures.items())
    days = f", a year of {_DAYS} days" if formula.unit == "days" else ""
    return f"With {told} (millions){days}: `{number(value).decode()}`."
