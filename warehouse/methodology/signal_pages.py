"""The page of each panel, in Markdown: what it measures, of what, in which month, since when."""

from collections.abc import Mapping

from warehouse.methodology.signals import (
    BY_KEY,
    CLOSES_AFTER,
    CLOSES_AFTER_DEFAULT,
    DIGITS,
    PARTS,
    REEVALUATED,
    SET,
    Dimension,
    Month,
    Panel,
)

_MONTHS: Mapping[Month, str] = {
    "tender": "The month of a process is that of its first release with a tender.",
    "first award": "The month of a process is that of its first award.",
    "award": "An award belongs to the month of its date.",
    "year end": "A row stands in the month in which the year of the issuer ends.",
}
_UNDATED = (
    "An award that states no date belongs to the month of the first release that states it. "
    "Awards count while their status is active or not stated."
)
_DIMENSIONS: Mapping[Dimension, str] = {
    "all": "the whole country",
    "category": "category as published by the portal",
    "procurement_method": "procurement method",
    "buyer": "buyer",
    "issuer": "listed issuer",
}


def page(key: str) -> str | None:
    """Give the page of a panel; None where there is no such panel."""
    panel = BY_KEY.get(key)
    return None if panel is None else _page(panel)


def pages() -> dict[str, str]:
    """Give every page by its methodology_ref."""
    return {f"{SET}/{panel.key}": _page(panel) for panel in BY_KEY.values()}


def _page(panel: Panel) -> str:
    parts = (
        f"# {panel.title}",
        f"`{SET}/{panel.key}`. It is a measure of what portals publish, and no judgement on "
        "anybody.",
        f"## Measures\n\n{measures(panel)}",
        f"## Scope\n\n{scope(panel)}",
        f"## When it was known\n\n{CLOSING}",
        f"## How a process is read\n\n{READING}",
        f"## Figures\n\n{FIGURES}",
    )
    return "\n\n".join(parts) + "\n"


def measures(panel: Panel) -> str:
    """Write the measures of a panel as a table."""
    head = "| measure | unit | meaning |\n|---|---|---|\n"
    return head + "\n".join(
        f"| `{each.key}` | {each.unit}{', per currency' if each.per_currency else ''} "
        f"| {each.meaning} |"
        for each in panel.measures
    )


def scope(panel: Panel) -> str:
    """Write what a panel counts as a list."""
    broken_down = " and ".join(_DIMENSIONS[each] for each in panel.dimensions)
    undated = () if panel.month == "tender" else (_UNDATED,)
    lines = (
        f"By country, month and: {broken_down}.",
        " ".join((_MONTHS[panel.month], *undated)),
        f"It needs {panel.needs}.",
        f"`n_eligible`: {panel.eligible}.",
        f"`n_observed`: those that {panel.observed}.",
        *panel.notes,
    )
    return "\n".join(f"- {line}" for line in lines)


_OTHERS = "".join(f", {days} in {country}" for country, days in CLOSES_AFTER.items())
CLOSING = (
    f"A month closes {CLOSES_AFTER_DEFAULT} days after its end{_OTHERS}, once something was read "
    "from the country's portals on that day or later. Only what was public on that day is in it. "
    f"Each of the {REEVALUATED} closings after it looks at the month again: where the value or a "
    "count is another, a new vintage is appended, dated by that closing; later changes are left "
    "out. Months before that of the first release of a country are not measured. With `as_of` a "
    "month appears once it was closed, in the vintage of that day."
)
READING = (
    "A process is one ocid of one portal and counts once. What is known of it are its releases "
    "published by the closing day, each as it read on that day, merged as OCDS does: of each "
    "member the newest release that states it counts, awards are united by their id, and the "
    "suppliers of an award are those of the newest release that names any.\n\n"
    "Parties that are not established to be organisations are never named: a party is withheld "
    "from every row as soon as one release, be it a later one, leaves it unestablished. They "
    "count by a keyed "
    "hash, so that shares and concentrations are exact, and `n_withheld` says how many there are. "
    "A release with several awards does not tell which of them went to a withheld supplier: "
    "where it has one such supplier, those that show none are taken as its own; where it has "
    "more, they are not observed."
)
FIGURES = (
    f"`value` has {DIGITS} significant digits (and at most 18 decimal places), half even, from "
    "exact sums. It is null where nothing was observed; then `n_observed` is 0. `coverage` is "
    "`n_observed` / `n_eligible`. Amounts are never converted: each currency has its own row, "
    "whose `n_eligible` counts every process in scope, whatever its currency; a row of the "
    "country's own currency says where none is stated. Amounts are read to "
    f"1/{PARTS:,} of a currency unit; zero and less state no amount."
)
