"""``describe_data``: what the build holds, in a page that a model can read at once."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from warehouse.contract.not_held import NOT_HELD
from warehouse.json_encoding import encode
from warehouse.methodology.signals import PANEL_BY_KEY
from warehouse.read.catalogue import catalogue
from warehouse.read.mart import Build, Mart

MAX_BYTES = 10_000
# Names of one kind that are listed; of more, only how many there are.
_MOST_NAMES = 60
_FEWEST_NAMES = 5


def description(mart: Mart) -> dict[str, object]:
    """Return datasets by country, names that can be asked for, and what is not held."""
    build = mart.build()
    return build.made_once("description", lambda: _made(mart.at(build.data_version), build))


def _made(mart: Mart, build: Build) -> dict[str, object]:
    entries = [msgspec.json.decode(row) for row in catalogue(mart).rows]
    most = _MOST_NAMES
    described = _described(entries, most, build.notice, build.data_version)
    # A real world has thousands of series: then fewer of them are named.
    while len(encode(described)) > MAX_BYTES and most > _FEWEST_NAMES:
        most //= 2
        described = _described(entries, most, build.notice, build.data_version)
    return described


def _described(
    entries: list[dict[str, Any]], most: int, notice: str, data_version: str
) -> dict[str, object]:
    by_section: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        by_section.setdefault(entry["section"], []).append(entry)

    def named(section: str) -> object:
        return _named(dict.fromkeys(each["name"] for each in by_section.get(section, ())), most)

    return {
        "datasets": _datasets(by_section.get("dataset", ()), most),
        "series": named("series"),
        "indicators": named("indicator"),
        "line_items": named("line_item"),
        "metrics": named("metric"),
        "panels": {
            key: PANEL_BY_KEY[key].title if key in PANEL_BY_KEY else key
            for key in dict.fromkeys(each["name"] for each in by_section.get("signal", ()))
        },
        "categories_of_tenders": named("category"),
        "not_held": dict(NOT_HELD),
        "more": "Call again with section (and country) for spans, units and counts of each.",
        "_license": notice,
        "data_version": data_version,
    }


def _named(names: Iterable[str], most: int) -> object:
    listed = list(names)
    if len(listed) <= most:
        return listed
    return {"count": len(listed), "first": listed[:most]}


def _datasets(entries: Iterable[Mapping[str, Any]], most: int) -> dict[str, object]:
    """Return, for each dataset, the span of every country that it has rows of."""
    datasets: dict[str, dict[str, str]] = {}
    for entry in entries:
        span = f"{entry['held_from']} to {entry['held_to']}, {entry['rows']} rows"
        if entry["organisations"] is not None:
            span += f", {entry['organisations']} issuers"
        datasets.setdefault(entry["name"], {})[entry["country"] or "no one country"] = span
    return {
        name: countries
        if len(countries) <= most
        else {"count": len(countries), "countries": list(countries)}
        for name, countries in datasets.items()
    }
