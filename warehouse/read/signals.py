"""Signal panels: the months closed by a day, in the vintage of that day."""

from datetime import date

import msgspec

from warehouse.mart.row_json import NEVER
from warehouse.read.conditions import Condition
from warehouse.read.mart import Build, Mart
from warehouse.read.rows import RowPage, between, cap_at_today, equal, fetch_page

PROCUREMENT_DEMAND = "procurement-demand"


def panel(
    mart: Mart,
    signal_key: str,
    country: str | None = None,
    category: str | None = None,
    as_of: date | None = None,
    from_: date | None = None,
    to: date | None = None,
    limit: int | None = None,
) -> RowPage | None:
    """Return a panel, newest month first; None if there is no panel of that key.

    ``from_`` and ``to`` bound the first day of a month; any day of a month stands for it. A panel
    that the build announces but has no rows of is empty.
    """
    build = mart.build()
    page = _panel(build, signal_key, country, category, as_of, from_, to, limit)
    return page if page.rows or _exists(build, signal_key) else None


def _panel(
    build: Build,
    signal_key: str,
    country: str | None,
    category: str | None,
    as_of: date | None,
    from_: date | None,
    to: date | None,
    limit: int | None,
) -> RowPage:
    where = equal(signal_key=signal_key, country=None if country is None else country.upper())
    if category is not None:
        where += equal(dimension="category", dimension_value=category)
    # A month is stored as its first day: any later day of ``from_`` would exclude it.
    where += between("month", None if from_ is None else from_.replace(day=1), to)
    return fetch_page(build, "signals", [*where, *_closed_by(as_of)], limit)


def procurement_demand(
    mart: Mart,
    country: str = "ZA",
    category: str | None = None,
    as_of: date | None = None,
    from_: date | None = None,
    to: date | None = None,
    limit: int | None = None,
) -> RowPage:
    """Return category shares, buyer concentration and momentum of a country."""
    return _panel(mart.build(), PROCUREMENT_DEMAND, country, category, as_of, from_, to, limit)


def _closed_by(as_of: date | None) -> list[Condition]:
    if as_of is None:
        return [Condition("superseded_at = ?", (NEVER,))]
    day = cap_at_today(as_of)
    closed_and_latest = "closed_at <= ? AND available_at <= ? AND superseded_at > ?"
    # A month is closed after it: later months lie in files that need not be read.
    not_later = Condition("month <= ?", (day,), "month", "<=")
    return [Condition(closed_and_latest, (day, day, day)), not_later]


def signal_keys(mart: Mart) -> list[str]:
    """Return the key of every panel of the build, in alphabetical order."""
    build = mart.build()

    def keys() -> list[str]:
        rows = build.rows("signals", "SELECT DISTINCT signal_key FROM {table}")
        return sorted({*_announced(build), *(str(key) for (key,) in rows)})

    return build.made_once("signal_keys", keys)


def _announced(build: Build) -> list[str]:
    return msgspec.json.decode(build.metadata.get("signal_keys", "[]"), type=list[str])


def _exists(build: Build, signal_key: str) -> bool:
    return signal_key in _announced(build) or any(
        file.query(f"SELECT 1 FROM {file.prefix}signals WHERE signal_key = ? LIMIT 1", signal_key)
        for file in build.files("signals")
    )
