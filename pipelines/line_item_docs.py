"""The page on the lines of statements, and the elements of the taxonomies that state them."""

from assets.filings.cvm_accounts import ACCOUNTS, TAXONOMY
from assets.filings.line_items import BY_ELEMENT
from warehouse.methodology.line_items import LINE_ITEMS, LineItem

_DECISION = "decisions/0027-line-items-are-ranked-elements-judged-by-their-own-filing.md"
_INTRODUCTION = f"""\
The lines of `/v1/fundamentals`, and the elements of the taxonomies that state them, best first. In
each filing the best of them that it states gives the figure, and `element` names it. An element
marked * gives it only in a filing that does not show there is more: minority interests beside the
share of the owners, discontinued operations beside continuing ones, amortisation beside
depreciation, services beside goods. An element that differs, in any period of the filing, from a
better one is a part there and gives nothing. Parts are never added up, so a filing that states
only parts has no figure ([decision 27]({_DECISION})). `cvm` are the accounts of Brazil's charts, by
code and description; a `*` stands for any number.
"""


def line_items() -> str:
    """Return the page without its title."""
    lines = [
        "| line item | statement | meaning | elements |",
        "| --- | --- | --- | --- |",
        *(
            f"| `{item.name}` | {item.statement.replace('_', ' ')} | {item.meaning} "
            f"| {_elements(item)} |"
            for item in LINE_ITEMS
        ),
    ]
    return _INTRODUCTION + "\n" + "\n".join(lines) + "\n"


def _elements(item: LineItem) -> str:
    ranked = sorted(
        (element.name[0], place.rank, f"`{element.name[1]}`{'*' if place.unless else ''}")
        for element in BY_ELEMENT.values()
        for place in element.places
        if place.item == item
    )
    ranked += sorted(
        (TAXONOMY, account.rank, f"`{account.name}`")
        for account in ACCOUNTS
        if account.item == item
    )
    by_taxonomy: dict[str, list[str]] = {}
    for taxonomy, _, name in ranked:
        by_taxonomy.setdefault(taxonomy, []).append(name)
    return "; ".join(f"{taxonomy}: {', '.join(names)}" for taxonomy, names in by_taxonomy.items())
