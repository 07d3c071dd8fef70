"""The list of changes: what arrived on each day, or what differs between two versions.

With a version, and row by row, two builds are compared: what an operator withheld or erased
since, and what a rollback took back, is found as well.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache

import msgspec
from msgspec.structs import replace

from warehouse.contract.listing import ListRows, Parameters, Question
from warehouse.contract.problems import unknown_version
from warehouse.publish.builds import builds_at
from warehouse.serve.build import Build
from warehouse.serve.changed_rows import TABLES, ChangedRow, ChangedTable, changed_rows, parts
from warehouse.serve.entities import organisation_id
from warehouse.serve.rows import Key, RowPage, make_page, page_of
from warehouse.serve.table_query import Empty, TableQuery, filters_of, query_rows, why_empty
from warehouse.shared.errors import UnknownVersion
from warehouse.shared.json_encoding import encode
from warehouse.shared.texts import version_key

# Once so many rows that differ were looked at, a page ends: to find them takes a second.
_MOST_LOOKED_AT = 10_000


class _Dated(msgspec.Struct):
    available_at: str | None = None


def changes(question: Question) -> ListRows:
    """Return what arrived since a day, newest first, or what differs from a version."""
    parameters, build = question.parameters, question.build
    if _is_by_day(parameters):
        return ListRows(query_rows(build, _by_day(question), **question.page))
    before = _compared_with(question)
    if parameters["level"] == "fact":
        return ListRows(_compared(question, before))
    return ListRows(page_of(build, _counted(question, before), **question.page))


def datasets_of_changes(parameters: Parameters) -> Sequence[str]:
    """Return the datasets whose rows are wanted: counts are of none."""
    if parameters["level"] != "fact":
        return ()
    return [table.dataset for table in TABLES if parameters["dataset"] in (None, table.dataset)]


def why_no_changes(question: Question) -> Empty:
    """Return why nothing changed."""
    if _is_by_day(question.parameters):
        return why_empty(question.build, _by_day(question))
    detail = f"Nothing that matches differs between {question.parameters['since']} and now."
    return Empty("no_match", detail, "since")


def _is_by_day(parameters: Parameters) -> bool:
    return parameters["level"] is None and isinstance(parameters["since"], date)


def _owner(question: Question) -> str | None:
    """Return what is followed: an organisation under its canonical id."""
    owner: str | None = question.parameters["id"]
    return owner and organisation_id(question.build, owner)


def _by_day(question: Question) -> TableQuery:
    """Ask for what arrived since a day, newest first: vintages new, restated, withdrawn."""
    parameters = question.parameters
    named = {"dataset": parameters["dataset"], "id": _owner(question), "country": question.country}
    days, bounds = (parameters["since"], None), ("since", "")
    filters = filters_of(**named)
    return TableQuery("changes", "changes", filters, (), None, "changed_on", days, (), bounds)


def _compared_with(question: Question) -> Build | None:
    """Return the build to compare with; for a day the last one before it, None if there is none."""
    since, mart = question.parameters["since"], question.mart
    if isinstance(since, date):
        # In the order of their names, which begin with the day.
        names = [
            name
            for name in builds_at(mart.folder).names()
            if name < since.isoformat().replace("-", "")
            and version_key(name) < version_key(question.build.data_version)
        ]
        return mart.at(names[-1]).build() if names else None
    try:
        return mart.at(since).build()
    except UnknownVersion as error:
        raise unknown_version(error, "not_found", "since") from error


def _compared(question: Question, before: Build | None) -> RowPage:
    """Return the rows that differ and match, as far as they are found in a moment."""
    rows: list[tuple[Key, bytes]] = []
    resume = None
    for key, row, country in _differing(question, before, _MOST_LOOKED_AT):
        if row is None:
            resume = key
            break
        rows.append((key, row.encoded(country)))
        if question.limit is not None and len(rows) > question.limit:
            break
    page = make_page(question.build, rows, question.limit)
    return page if resume is None else replace(page, truncated=True, resume=resume)


def _differing(
    question: Question, before: Build | None, most: int | None = None
) -> Iterator[tuple[Key, ChangedRow | None, str | None]]:
    """Yield the rows that differ and match, each with its key and the country of its owner.

    After ``most`` rows that differ, the key to go on from is yielded without a row.
    """
    parameters, build, after = question.parameters, question.build, question.after
    owner, wanted = _owner(question), question.country

    @cache
    def country_of(table: ChangedTable, owner: str) -> str | None:
        if table.owner == "country":
            return owner
        statement = "SELECT country FROM {table} WHERE service_id = ?"
        rows = build.rows("entities", statement, owner)
        return str(rows[0][0]) or None if rows else None

    looked_at = 0
    for table in TABLES:
        if parameters["dataset"] not in (None, table.dataset):
            continue
        for part in parts(build, before, table, owner):
            if after is not None and after[:2] != (table.name, part.name):
                continue
            skipped, after = 0 if after is None else int(after[2]), None
            if most is not None and looked_at >= most:
                yield (table.name, part.name, "0"), None, None
            looked_at += len(changed_rows(part))
            for number, row in enumerate(changed_rows(part)[skipped:], skipped + 1):
                country = row.country or country_of(table, row.owner)
                if owner in (None, row.owner) and wanted in (None, country):
                    yield (table.name, part.name, str(number)), row, country


def _counted(question: Question, before: Build | None) -> list[bytes]:
    """Return how many rows of each thing differ, and how, in the order of datasets and ids."""
    counts: dict[tuple[str, str, str | None], Counter[str]] = {}
    days: dict[tuple[str, str, str | None], set[str]] = {}
    whole = msgspec.structs.replace(question, after=None, limit=None)
    for _, row, country in _differing(whole, before):
        assert row is not None
        key = row.table.dataset, row.owner, country
        counts.setdefault(key, Counter())[row.kind] += 1
        day = msgspec.json.decode(row.body, type=_Dated).available_at
        days.setdefault(key, set()).update([day] if day else ())
    version = question.build.data_version
    return [
        encode(
            {
                "changed_on": f"{version[:4]}-{version[4:6]}-{version[6:8]}",
                **{"dataset": key[0], "id": key[1], "country": key[2]},
                **{name: counts[key][name] for name in ("added", "restated", "withdrawn")},
                **{"available_from": min(days[key], default=None)},
                **{"available_to": max(days[key], default=None)},
                **{name: counts[key][name] for name in ("changed", "removed")},
            }
        )
        for key in sorted(counts, key=lambda key: (key[0], key[1], key[2] or ""))
    ]
