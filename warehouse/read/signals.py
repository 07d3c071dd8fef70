"""Signal panels: the months closed by a day, in the vintage of that day."""

from datetime import date

from warehouse.mart.row_json import NEVER
from warehouse.methodology.signals import PANEL_BY_KEY
from warehouse.read.conditions import Condition, Key
from warehouse.read.mart import Build, Mart
from warehouse.read.rows import RowPage, between, cap_at_today, equal, fetch_page

PROCUREMENT_DEMAND = "procurement-demand"


def panel(
    mart: Mart,
    signal_key: str,
    country: str | None = None,
    dimension: str | None = None,
    dimension_value: str | None = None,
    measure: str | None = None,
    as_of: date | None = None,
    from_: date | None = None,
    to: date | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> RowPage | None:
    """Return a panel, newest month first; None if there is no panel of that key.

    ``from_`` and ``to`` bound the first day of a month; any day of a month stands for it. A panel
    without rows is empty.
    """
    build = mart.build()
    # A month is stored as its first day: any later day of ``from_`` would exclude it.
    months = between("month", None if from_ is None else from_.replace(day=1), to)
    where = [
        *equal(signal_key=signal_key, country=country),
        *equal(dimension=dimension, dimension_value=dimension_value),
        *equal(measure=measure),
        *months,
        *closed_by(as_of),
    ]
    page = fetch_page(build, "signals", where, limit, after=after)
    return (
        page
        if page.rows or signal_key in PANEL_BY_KEY or signal_key in signal_keys(build)
        else None
    )


def closed_by(as_of: date | None) -> list[Condition]:
    """Match months that were closed by a day, in the vintage of that day."""
    if as_of is None:
        return [Condition("superseded_at = ?", (NEVER,))]
    day = cap_at_today(as_of)
    closed_and_latest = "closed_at <= ? AND available_at <= ? AND superseded_at > ?"
    # A month is closed after it: later months lie in files that need not be read.
    not_later = Condition("month <= ?", (day,), "month", "<=")
    return [Condition(closed_and_latest, (day, day, day)), not_later]


def signal_keys(build: Build) -> list[str]:
    """Return the keys of all panels, also of those that only an older build has."""
    statement = "SELECT DISTINCT signal_key FROM {table}"
    found = {str(key) for (key,) in build.rows("signals", statement)}
    return sorted({*PANEL_BY_KEY, *found})
