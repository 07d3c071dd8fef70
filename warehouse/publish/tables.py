"""The tables of a build as data: key columns, order, files, indexes and members of a served row.

The rows of a table lie in files, by organisation, country or source (``Files``). In a file they
have the order in which they are served, so that rows read together lie together; ``row_number``
counts them from 1. ``write`` writes them. ``mart_tables.csv`` has a line for each table; the SQL of
its rows is in ``sql/mart_tables.sql`` or in ``served_rows``, unless they are those of a table.
Nothing here imports Arrow: the surfaces load this module.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlmodel import SQLModel

from warehouse.publish import served_rows
from warehouse.publish.row_json import LATEST_DAY, NEVER, NEVER_DAY, PROVENANCE
from warehouse.shared.data_files import csv_rows, sql_file
from warehouse.tables.column import members_of
from warehouse.tables.derived import DerivedFigure, Metric, SharedFact, Signal
from warehouse.tables.entities import Entity, EntityIdentifier, ListedIssuer
from warehouse.tables.fundamentals import ElementFact, FilingVintage, FundamentalVintage
from warehouse.tables.macro import MacroAnnual, MacroSeries
from warehouse.tables.operations import QualityMetric
from warehouse.tables.tenders import TenderParty, TenderReleaseVintage

_VINTAGE = ("available_at", "superseded_at", "vintage", "withdrawn", "latest")
_OF_TRAILING = "_ttm"
# Members that a row of a party has besides the columns of its class; some count releases.
_COUNTED = ("releases", "processes", "first_release", "last_release")
_PARTY = (
    *("party_id", "service_id", "name", "role", "country", "identifier", *_COUNTED),
    *("match_method", "org_evidence"),
)
_PARTY_MEMBERS = tuple(name for name in _PARTY if name not in _COUNTED)
# Members of a party's history that its answers are counted from.
NOT_SERVED = ("known", "cited", "won", "won_cited")


def _dated(own: tuple[str, ...], row: type[SQLModel]) -> tuple[str, ...]:
    """Return the members of a row with vintages, whose own columns are given."""
    times, origins = members_of(row, "time"), members_of(row, "origin")
    return (*own, "vintage", *times, *origins, *PROVENANCE)


def _insert(members: tuple[str, ...], after: str, *new: str) -> tuple[str, ...]:
    """Return the members with new ones that the mart adds to the columns of a class."""
    place = members.index(after) + 1
    return (*members[:place], *new, *members[place:])


# Mart schema version. Count it up if builds get tables, keys or packs that readers do not know yet.
# A new member of a row is no reason: rows are served as they were written.
MART_SCHEMA_VERSION = 1
# The versions that readers can read: their own, and in a release that counts it up the one before,
# so that readers can be replaced first, and then the publisher (docs/decisions/0050).
READABLE_SCHEMA_VERSIONS = (MART_SCHEMA_VERSION,)

# Column types of the mart tables.
ColumnKind = Literal["text", "integer", "real", "bytes"]
Columns = dict[str, ColumnKind]
# The table of a file that says where the rows of each value of ``run_by`` begin and end.
RUNS = "runs"
# Columns that number rows; the first column of a table with one of these names is its primary key.
ROW_NUMBERS = ("row_number", "first_row", "first_place")


_DAY_NUMBER = f"coalesce(date_diff('day', DATE '1970-01-01', {{}}), {NEVER_DAY})"
# SQL of the days from which a row answers, and until which.
_KNOWN = {
    # A withdrawn row is never an answer: it is known from after every day, until before every day.
    "vintage": (
        f"""CAST(CASE WHEN withdrawn THEN {LATEST_DAY}
    ELSE {_DAY_NUMBER.format("available_at")} END AS INTEGER)""",
        f"""CAST(CASE WHEN latest THEN {LATEST_DAY} WHEN withdrawn THEN 0
    ELSE {_DAY_NUMBER.format("superseded_at")} END AS INTEGER)""",
    ),
    "answer": (
        f"CAST({_DAY_NUMBER.format('answers_from')} AS INTEGER)",
        "CAST(coalesce(date_diff('day', DATE '1970-01-01', answers_until), "
        f"{LATEST_DAY}) AS INTEGER)",
    ),
}


@dataclass(frozen=True)
class Packing:
    """How the rows of a table lie in packs: at most so many, with ``by`` all of one value of it.

    A frame is read whole: it should hold what one request mostly needs and not much more.
    ``known`` is SQL of the days from which a row was known, and was no longer the latest; without
    it all rows are current.
    """

    max_rows: int = 64
    by: str = ""
    frame_rows: int = 512
    known: tuple[str, str] | None = None


@dataclass(frozen=True)
class Files:
    """Which rows of a table lie in one file: the column that decides, and how.

    ``hash``: by buckets of values, as many as keep a file below ``max_rows``. ``value``: each value
    by itself; more than ``max_rows`` rows are split by years of the column ``day``, and by months.
    """

    by: str
    how: Literal["hash", "value"]
    max_rows: int
    day: str = ""


@dataclass(frozen=True)
class MartTable:
    """One table of a build: ``rows`` is a SELECT over the snapshot.

    ``keys`` are columns to filter by; the rows of each value of ``run_by``, the first column of the
    order, are a run of row numbers. ``members`` are the members of a served row, in order;
    without them the table has keys only. ``inside`` are members taken over from the release JSON.
    A table without ``files`` is one file. ``merged_by`` are key columns: rows of several files are
    merged in their order, rows with equal ones in the order of the files. Without them, the files
    follow each other. ``listed_in`` is a table with all values of the column that decides the
    file, by which rows are ordered first.
    """

    name: str
    rows: str
    order: str
    keys: tuple[str, ...]
    run_by: str
    indexes: tuple[str, ...]
    members: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    packed: Packing = Packing()
    files: Files | None = None
    merged_by: tuple[str, ...] = ()
    listed_in: str = ""


CATALOGUE_MEMBERS = (
    *("section", "name", "dataset", "country", "country_iso3", "type", "unit", "frequency"),
    *("organisations", "rows", "held_from", "held_to"),
)
CHANGE_MEMBERS = (
    *("changed_on", "dataset", "id", "country", "added", "restated", "withdrawn"),
    *("available_from", "available_to", "changed", "removed"),
)


# The members of served rows, in order.
_OF_FACTS = (*members_of(SharedFact), "available_at", "vintage", *PROVENANCE)
_FIGURES = _dated(("fact_id", *members_of(FundamentalVintage, "own")), FundamentalVintage)
_OF_PARTY = members_of(TenderParty, "own")
_OF_ANNUAL = _insert(members_of(MacroAnnual, "own"), "indicator", "series_type", "frequency")
_MEMBERS: Mapping[str, tuple[str, ...]] = {
    "fundamentals": _FIGURES,
    "newest_statements": _FIGURES,
    "derived_figures": _dated(("fact_id", *members_of(DerivedFigure, "own")), DerivedFigure),
    "elements": _dated(("fact_id", *members_of(ElementFact, "own")), ElementFact),
    "filings": _dated(members_of(FilingVintage, "own"), FilingVintage),
    "tender_releases": _dated(members_of(TenderReleaseVintage, "own"), TenderReleaseVintage),
    "tender_parties": (*dict.fromkeys((*_PARTY, *_OF_PARTY)), *PROVENANCE),
    "party_history": (
        *dict.fromkeys((*_PARTY_MEMBERS, *_OF_PARTY)),
        *(*PROVENANCE, *NOT_SERVED),
    ),
    "award_facts": _OF_FACTS,
    "tender_facts": _OF_FACTS,
    "macro_annual": _dated(_OF_ANNUAL, MacroAnnual),
    "macro_series": _dated(members_of(MacroSeries, "own"), MacroSeries),
    "entities": (
        *members_of(Entity, "own"),
        *("aliases", "joins", "listings", "datasets", *PROVENANCE),
    ),
    # Only the source, the licence and the time of its provenance.
    "identifiers": (*members_of(EntityIdentifier, "own"), "match_method", *PROVENANCE[:3]),
    "universe": _dated(members_of(ListedIssuer, "own"), ListedIssuer),
    "search": served_rows.SEARCHABLE_MEMBERS,
    "metrics": (
        *_insert(members_of(Metric, "own"), "service_id", "legal_name", "country"),
        *PROVENANCE,
    ),
    "signals": (*_insert(members_of(Signal, "own"), "service_id", "legal_name"), *PROVENANCE),
    "quality": members_of(QualityMetric),
    "catalogue": CATALOGUE_MEMBERS,
    "changes": CHANGE_MEMBERS,
    "page_data": ("body",),
}
_SQL = sql_file(
    __name__,
    "mart_tables",
    fragments={
        "current_entities": served_rows.CURRENT_ENTITIES,
        "named_entities": served_rows.NAMED_ENTITIES,
        "universe": served_rows.UNIVERSE,
    },
)


def _table(row: Mapping[str, str]) -> MartTable:
    """Return the table of a line of ``mart_tables.csv``."""
    name = row["name"]
    # The tables of another set of metrics are made like those of the first.
    like = name.replace(_OF_TRAILING, "")
    of_set = "" if like == name else _OF_TRAILING
    is_stated = like in _SQL.texts
    fill = {"of_set": of_set, "with_sessions": _SQL.statement("with_sessions", rows=name)}
    rows = _SQL.statement(like, **fill) if is_stated else f"SELECT * FROM {name}"
    rows = getattr(served_rows, row["rows"]) if row["rows"] else rows
    how: Any = row["file_how"]
    return MartTable(
        name,
        rows,
        row["order"],
        tuple(row["keys"].replace("VINTAGE", " ".join(_VINTAGE)).split()),
        row["run_by"],
        tuple(filter(None, row["indexes"].format(NEVER=NEVER).split("; "))),
        _MEMBERS.get(like, ()),
        tuple(row["inside"].split()),
        Packing(
            int(row["pack_rows"]), row["pack_by"], int(row["frame_rows"]), _KNOWN.get(row["known"])
        ),
        Files(row["file_by"], how, int(row["file_rows"] or 1 << 62), row["day"]) if how else None,
        tuple(filter(None, row["merged_by"].split(", "))),
        row["listed_in"],
    )


MART_TABLES = tuple(map(_table, csv_rows(__name__, "mart_tables")))
