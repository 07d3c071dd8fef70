"""Parameters with which a build can be asked, each set from one row of it.

For the description of the API: what it shows must be there. A row is looked for in the first
files of a table only, so that a large build costs no more than a small one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.publish.row_json import NEVER
from warehouse.serve.build import Build

Example = Mapping[str, str]
# Files of a table in which a row is looked for.
_MOST_FILES = 8
_LATEST = "latest = 1 AND withdrawn = 0"
_KNOWN_SINCE_A_DAY = f"{_LATEST} AND available_at <> ''"
_STATEMENTS = {item.name: item.statement for item in LINE_ITEMS}


@dataclass(frozen=True)
class _Rows:
    """Which rows an example can come from: the column of each parameter, and what is always sent.

    ``owner`` is the column of the organisation, if the issuer of the other examples is preferred.
    """

    table: str
    columns: Mapping[str, str]
    where: str = "1 = 1"
    owner: str = ""
    fixed: Example = field(default_factory=dict)


def _columns(*same: str, **others: str) -> dict[str, str]:
    """Return columns by parameter; ``from_`` stands for ``from``, which is a keyword."""
    named = {name.rstrip("_"): column for name, column in others.items()}
    return {**{name: name for name in same}, **named}


_FIGURES = _columns("period_type", as_of="available_at", line_items="line_item")
_OF_YEARS = (f"{_LATEST} AND period_type = 'FY'", "organisation", {"vintages": "latest"})
_RANKED = _Rows(
    "screens",
    _columns("metric", "country", service_id="organisation", as_of="answers_from"),
    f"answers_until = '{NEVER}'",
)
_OF_MONTHS = _columns(
    *("signal_key", "country", "dimension", "dimension_value", "measure"),
    as_of="CASE WHEN closed_at > available_at THEN closed_at ELSE available_at END",
    from_="month",
    to="month",
)
_RELEASES = _columns(
    *("country", "category"),
    from_="released_on",
    to="released_on",
    buyer="buyer_id",
    as_of="available_at",
    status="tender_status",
)
_PARTIES = _columns("country", "role", "service_id")
_IDENTIFIED = _columns("id_type", id_value="id_match")
# By the name of a list; the first of several that the build has rows of.
_EXAMPLES: Mapping[str, Sequence[_Rows]] = {
    "metrics": [_RANKED],
    "screen": [_RANKED],
    "fundamentals": [_Rows("fundamentals", {**_FIGURES, "service_id": "organisation"}, *_OF_YEARS)],
    "fundamentals of several": [
        _Rows("fundamentals", {**_FIGURES, "service_ids": "organisation"}, *_OF_YEARS)
    ],
    "filings": [
        _Rows(
            "filings",
            _columns("form", service_id="organisation", as_of="available_at")
            | {"from": "received_on", "to": "received_on"},
            f"{_LATEST} AND received_on <> ''",
            "organisation",
        )
    ],
    "search": [
        _Rows(
            "entities",
            _columns("country", query="legal_name"),
            "legal_name <> '' AND country <> ''",
            "service_id",
            {"kind": "organisation"},
        )
    ],
    "tender": [_Rows("tender_releases", _columns("ocid", as_of="available_at"), _LATEST)],
    "catalogue": [_Rows("catalogue", _columns("section", "dataset", "country"))],
    "changes": [_Rows("changes", _columns("dataset", "id", "country", since="changed_on"))],
    "entity": [_Rows("entities", _columns("service_id"), owner="service_id")],
    "crosswalk": [_Rows("identifiers", _columns(service_id="organisation"), owner="organisation")],
    "lookup": [
        _Rows("identifiers", _IDENTIFIED, "id_type = 'lei'"),
        _Rows("identifiers", _IDENTIFIED, "id_type = 'ticker'"),
    ],
    # A vintage that is known by a day: one without a day answers no ``as_of``.
    "macro": [
        _Rows(
            "macro_series",
            _columns("country", "series", "series_type", "frequency", as_of="available_at")
            | {"from": "period_end", "to": "period_end"},
            f"{_KNOWN_SINCE_A_DAY} AND country <> ''",
        )
    ],
    "shared facts": [
        _Rows(
            "macro_series",
            _columns(entity_id="country_iso3", measure="series", as_of="available_at"),
            f"{_KNOWN_SINCE_A_DAY} AND country_iso3 <> ''",
            fixed={"dataset": "AF-MACRO"},
        )
    ],
    "signal": [_Rows("signals", _OF_MONTHS, f"superseded_at = '{NEVER}'")],
    "procurement demand": [
        _Rows(
            "signals",
            {**_OF_MONTHS, "category": "dimension_value"},
            f"superseded_at = '{NEVER}' AND signal_key = 'procurement-demand' "
            "AND dimension = 'category'",
        )
    ],
    "tenders": [
        _Rows("tender_releases", _RELEASES, f"{_LATEST} AND released_on <> '' AND category <> ''"),
        _Rows("tender_releases", _RELEASES, f"{_LATEST} AND released_on <> ''"),
    ],
    "tender parties": [
        _Rows("tender_parties", _PARTIES, "service_id <> ''"),
        _Rows("tender_parties", _PARTIES),
    ],
    "quality": [_Rows("quality", _columns("sku"))],
}


def examples(build: Build) -> dict[str, Example]:
    """Return a set of parameters for each list, empty if the build has no rows of it."""
    return build.made_once("examples", lambda: _made(build))


def _made(build: Build) -> dict[str, Example]:
    issuer = _example(build, _RANKED, "").get("service_id", "")
    return {
        name: next((found for rows in some if (found := _example(build, rows, issuer))), {})
        for name, some in _EXAMPLES.items()
    }


def _example(build: Build, rows: _Rows, issuer: str) -> Example:
    """Return an example, of an issuer if it has rows, so that examples go together."""
    select = f"SELECT {', '.join(rows.columns.values())} FROM {rows.table} WHERE {rows.where}"
    files = build.files(rows.table)
    if rows.owner and issuer:
        for file in build.files_with(rows.table, rows.owner, issuer):
            if found := file.query(f"{select} AND {rows.owner} = ? LIMIT 1", issuer):
                return _filled(rows, found[0])
    for file in files[:_MOST_FILES]:
        if found := file.query(f"{select} LIMIT 1"):
            return _filled(rows, found[0])
    return {}


def _filled(rows: _Rows, row: tuple[object, ...]) -> Example:
    values = zip(rows.columns, row, strict=True)
    example = {name: str(value) for name, value in values if value not in (None, "")}
    if (line_item := example.get("line_items")) in _STATEMENTS:
        example["statement"] = _STATEMENTS[line_item]
    return {**example, **rows.fixed}
