"""Parameters with which a build can be asked, each set from one row of it.

For the description of the API: what it shows must be there. A row is looked for in the first
files of a table only, so that a large build costs no more than a small one.
"""

from collections.abc import Mapping

from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.publish.row_json import NEVER
from warehouse.serve.build import Build

Example = Mapping[str, str]

_LATEST = "latest = 1 AND withdrawn = 0"
_PROCUREMENT = "signal_key = 'procurement-demand' AND dimension = 'category'"
# Files of a table in which a row is looked for.
_MOST_FILES = 8


def examples(build: Build) -> dict[str, Example]:
    """Return a set of parameters for each subject that the build has rows of."""
    ranked = _first(
        build,
        "screens",
        {"metric": "metric", "service_id": "organisation", "as_of": "answers_from"}
        | {"country": "country"},
        f"answers_until = '{NEVER}'",
    )
    issuer = ranked.get("service_id", "")
    figures = _fundamentals(build, issuer)
    found = {
        "metrics": ranked,
        "screen": ranked,
        "fundamentals": figures,
        "fundamentals_of_several": _of_several(figures),
        "filings": _filings(build, issuer),
        "search": _search(build, issuer),
        "tender": _first(
            build, "tender_releases", {"ocid": "ocid", "as_of": "available_at"}, _LATEST
        ),
        "catalogue": _first(
            build, "catalogue", {name: name for name in ("section", "dataset", "country")}
        ),
        "changes": _changes(build),
        "entities": _of_issuer(build, "entities", {"service_id": "service_id"}, issuer),
        "crosswalk": _of_issuer(build, "identifiers", {"service_id": "organisation"}, issuer),
        "lookup": _lookup(build),
        "macro": _macro(build, "country <> ''"),
        "shared_facts": _shared_facts(build),
        "signals": _signals(build, f"superseded_at = '{NEVER}'"),
        "procurement_demand": _signals(build, f"superseded_at = '{NEVER}' AND {_PROCUREMENT}"),
        "tenders": _tenders(build),
        "tender_parties": _parties(build),
        "quality": _first(build, "quality", {"sku": "sku"}),
    }
    return {subject: example for subject, example in found.items() if example}


def _fundamentals(build: Build, issuer: str) -> Example:
    columns = {
        **{"service_id": "organisation", "period_type": "period_type"},
        **{"as_of": "available_at", "line_items": "line_item"},
    }
    example = _of_issuer(
        build, "fundamentals", columns, issuer, f"{_LATEST} AND period_type = 'FY'"
    )
    statements = {item.name: item.statement for item in LINE_ITEMS}
    if (line_item := example.get("line_items")) in statements:
        example = {**example, "statement": statements[line_item]}
    return {**example, "vintages": "latest"} if example else {}


def _of_several(figures: Example) -> Example:
    others = {name: value for name, value in figures.items() if name != "service_id"}
    return {"service_ids": figures["service_id"], **others} if figures else {}


def _filings(build: Build, issuer: str) -> Example:
    columns = {
        **{"service_id": "organisation", "form": "form", "as_of": "available_at"},
        **{"from": "received_on", "to": "received_on"},
    }
    return _of_issuer(build, "filings", columns, issuer, f"{_LATEST} AND received_on <> ''")


def _search(build: Build, issuer: str) -> Example:
    columns = {"query": "legal_name", "country": "country"}
    found = _of_issuer(build, "entities", columns, issuer, "legal_name <> '' AND country <> ''")
    return {**found, "kind": "organisation"} if found else {}


def _changes(build: Build) -> Example:
    columns = {"since": "changed_on", "dataset": "dataset", "id": "id", "country": "country"}
    return _first(build, "changes", columns)


def _lookup(build: Build) -> Example:
    columns = {"id_type": "id_type", "id_value": "id_match"}
    return _first(build, "identifiers", columns, "id_type = 'lei'") or _first(
        build, "identifiers", columns, "id_type = 'ticker'"
    )


def _macro(build: Build, where: str) -> Example:
    columns = {
        **{name: name for name in ("country", "series", "series_type", "frequency")},
        **{"as_of": "available_at", "from": "period_end", "to": "period_end"},
    }
    # A vintage that is known by a day: one without a day answers no ``as_of``.
    return _first(build, "macro_series", columns, f"{_LATEST} AND available_at <> '' AND {where}")


def _shared_facts(build: Build) -> Example:
    columns = {"entity_id": "country_iso3", "measure": "series", "as_of": "available_at"}
    where = f"{_LATEST} AND available_at <> '' AND country_iso3 <> ''"
    example = _first(build, "macro_series", columns, where)
    return {**example, "dataset": "AF-MACRO"} if example else {}


def _signals(build: Build, where: str) -> Example:
    names = ("signal_key", "country", "dimension", "dimension_value")
    columns = {
        **{name: name for name in names},
        "measure": "measure",
        "as_of": "CASE WHEN closed_at > available_at THEN closed_at ELSE available_at END",
        **{"from": "month", "to": "month"},
    }
    example = dict(_first(build, "signals", columns, where))
    if example.get("dimension") == "category":
        example["category"] = example["dimension_value"]
    return example


def _tenders(build: Build) -> Example:
    columns = {
        **{"country": "country", "from": "released_on", "to": "released_on"},
        **{"category": "category", "buyer": "buyer_id", "as_of": "available_at"},
        "status": "tender_status",
    }
    where = f"{_LATEST} AND released_on <> ''"
    return _first(build, "tender_releases", columns, f"{where} AND category <> ''") or _first(
        build, "tender_releases", columns, where
    )


def _parties(build: Build) -> Example:
    columns = {"country": "country", "role": "role", "service_id": "service_id"}
    return _first(build, "tender_parties", columns, "service_id <> ''") or _first(
        build, "tender_parties", columns
    )


def _of_issuer(
    build: Build, table: str, columns: Mapping[str, str], issuer: str, where: str = "1 = 1"
) -> Example:
    """Return an example of an issuer if it has rows, so that examples go together."""
    owner = "service_id" if table == "entities" else "organisation"
    files = build.files_with(table, owner, issuer) if issuer else ()
    for file in build.files(table) if files is None else files:
        statement = f"SELECT {', '.join(columns.values())} FROM {table}"
        if rows := file.query(f"{statement} WHERE {owner} = ? AND {where} LIMIT 1", issuer):
            return _filled(columns, rows[0])
    return _first(build, table, columns, where)


def _first(build: Build, table: str, columns: Mapping[str, str], where: str = "1 = 1") -> Example:
    for file in build.files(table)[:_MOST_FILES]:
        statement = f"SELECT {', '.join(columns.values())} FROM {table}"
        if rows := file.query(f"{statement} WHERE {where} LIMIT 1"):
            return _filled(columns, rows[0])
    return {}


def _filled(columns: Mapping[str, str], row: tuple[object, ...]) -> Example:
    values = zip(columns, row, strict=True)
    return {name: str(value) for name, value in values if value not in (None, "")}
