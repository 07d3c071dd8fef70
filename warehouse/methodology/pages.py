"""The methodology pages in Markdown, the same on all surfaces; their texts are in ``templates``.

Each metric and each panel has a page, at its ``methodology_ref``: set, slash, slug.
"""

from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files

from warehouse.methodology import metrics, signals
from warehouse.methodology.metrics import BALANCES, FORMULA_BY_SLUG, Formula, Input
from warehouse.methodology.signals import PANEL_BY_KEY, Dimension, MonthRule, Panel
from warehouse.shared.data_files import csv_rows
from warehouse.shared.json_encoding import encode_decimal

# The worked examples: a fictional company, in millions. Last year has what formulas need of it.
_EXAMPLE = {row["line_item"]: row for row in csv_rows(__name__, "example_figures")}
_DAYS = 365


def _text(name: str, **values: str) -> str:
    """Return a text with the values and the numbers of the methodology that it names in braces."""
    template = files("warehouse.methodology").joinpath("templates", f"{name}.txt")
    named = {**vars(metrics), **vars(signals), **values}
    return template.read_text("utf-8").rstrip("\n").format_map(named)


YEARS = _text("years")
AS_OF = _text(
    "as_of",
    REASONS="\n".join(f"| `{name}` | {why} |" for name, why in metrics.ABSENT_REASONS.items()),
)
CLOSING, READING = _text("closing"), _text("reading")
IMPLAUSIBLE, FIGURES = _text("implausible"), _text("figures")


def metric_page(slug: str, metric_set: str = metrics.METRIC_SET) -> str | None:
    """Return the page of a metric of a set; None if there is no such metric."""
    formula, years, as_of = FORMULA_BY_SLUG.get(slug), YEARS, AS_OF
    if metric_set == metrics.TRAILING_SET:
        formula = formula if formula in metrics.TRAILING else None
        years, as_of = _text("trailing_years"), _text("trailing_as_of")
    if formula is None:
        return None
    tables = {"inputs": _inputs(formula), "example": _example(formula), "METRIC_SET": metric_set}
    return _text("metric", **vars(formula), **tables, YEARS=years, AS_OF=as_of) + "\n"


def _inputs(formula: Formula) -> str:
    rows = [
        f"| `{figure.line_item}` | {year} year | {_kind(figure)} |"
        for figure in formula.inputs
        for year in ("last" if figure.last_year else "this",)
    ]
    return "\n".join(["| line item | of | kind |", "|---|---|---|", *rows])


def _kind(figure: Input) -> str:
    return "balance at the last day" if figure.line_item in BALANCES else "flow over the year"


def _example(formula: Formula) -> str:
    figures = {
        figure: int(_EXAMPLE[figure.line_item]["last_year" if figure.last_year else "this_year"])
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
    if panel is None:
        return None
    own = {"key": key, "title": panel.title, "measures": measures(panel), "scope": scope(panel)}
    shared = {
        "CLOSING": CLOSING,
        "READING": READING,
        "IMPLAUSIBLE": IMPLAUSIBLE,
        "FIGURES": FIGURES,
    }
    return _text("panel", **own, **shared) + "\n"


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


SLUGS: Mapping[str, tuple[str, ...]] = {
    metrics.METRIC_SET: tuple(metrics.FORMULA_BY_SLUG),
    metrics.TRAILING_SET: tuple(formula.slug for formula in metrics.TRAILING),
    signals.SIGNAL_SET: tuple(signals.PANEL_BY_KEY),
}
_PAGES: Mapping[str, Callable[[str], str | None]] = {
    metrics.METRIC_SET: metric_page,
    metrics.TRAILING_SET: partial(metric_page, metric_set=metrics.TRAILING_SET),
    signals.SIGNAL_SET: panel_page,
}
REFS = tuple(f"{name}/{slug}" for name, slugs in SLUGS.items() for slug in slugs)


def methodology_page(set_name: str, slug: str) -> str | None:
    """Return the page of a metric or panel; None if there is none."""
    return _PAGES[set_name](slug) if set_name in _PAGES else None
