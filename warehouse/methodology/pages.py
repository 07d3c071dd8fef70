"""Every page of methodology by its set and slug, the same for all surfaces."""

from collections.abc import Callable, Mapping

from warehouse.methodology import metrics, signals
from warehouse.methodology.metric_pages import metric_page
from warehouse.methodology.signal_pages import page as signal_page

SLUGS: Mapping[str, tuple[str, ...]] = {
    metrics.SET: tuple(metrics.BY_SLUG),
    signals.SET: tuple(signals.BY_KEY),
}
_PAGES: Mapping[str, Callable[[str], str | None]] = {
    metrics.SET: metric_page,
    signals.SET: signal_page,
}
REFS = tuple(f"{name}/{slug}" for name, slugs in SLUGS.items() for slug in slugs)


def page_of(set_name: str, slug: str) -> str | None:
    """Give a page as Markdown; None if there is no such one."""
    return _PAGES[set_name](slug) if set_name in _PAGES else None
