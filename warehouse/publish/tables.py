"""The tables of a build as data: key columns, order, files, indexes and members of a served row.

The rows of a table lie in files, by organisation, country or source (``Files``). In a file they
have the order in which they are served, so that rows read together lie together; ``row_number``
counts them from 1. ``write`` writes them; the SQL of the rows is in ``served_rows``,
``award_facts`` and ``tender_facts``. Nothing here imports Arrow: the surfaces load this module.
"""

from dataclasses import dataclass
from typing import Literal

from sqlmodel import SQLModel

from warehouse.publish import served_rows
from warehouse.publish.row_json import LATEST_DAY, NEVER, NEVER_DAY, PROVENANCE
from warehouse.tables import (
    Entity,
    EntityIdentifier,
    Filing,
    FundamentalVintage,
    MacroAnnual,
    MacroSeries,
    Metric,
    QualityMetric,
    SharedFact,
    Signal,
    TenderParty,
    TenderReleaseVintage,
)
from warehouse.tables.column import members_of

_VINTAGE = ("available_at", "superseded_at", "vintage", "withdrawn", "latest")
# `organisation` is the id under which all rows of an organisation are found: rows have canonical
# ids, so it is their own.
_WITH_ORGANISATION = "SELECT *, service_id AS organisation FROM ({})"
# Members that a row of a party has besides the columns of its class; some count releases.
_COUNTED = ("releases", "processes", "first_release", "last_release")
_PARTY = (
    *("party_id", "service_id", "name", "role", "country", "identifier", *_COUNTED),
    *("match_method", "org_evidence"),
)
_PARTY_MEMBERS = tuple(name for name in _PARTY if name not in _COUNTED)


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
# Columns that number rows; the first column of a table with one of these names is its primary key.
ROW_NUMBERS = ("row_number", "first_row", "first_place")


_DAY_NUMBER = f"coalesce(date_diff('day', DATE '1970-01-01', {{}}), {NEVER_DAY})"
# A withdrawn row is never an answer: it is known from after every day, until before every day.
_KNOWN = (
    f"""CAST(CASE WHEN withdrawn THEN {LATEST_DAY}
    ELSE {_DAY_NUMBER.format("available_at")} END AS INTEGER)""",
    f"""CAST(CASE WHEN latest THEN {LATEST_DAY} WHEN withdrawn THEN 0
    ELSE {_DAY_NUMBER.format("superseded_at")} END AS INTEGER)""",
)
# From which day a row answers, and until which.
_ANSWERS = (
    f"CAST({_DAY_NUMBER.format('answers_from')} AS INTEGER)",
    f"CAST(coalesce(date_diff('day', DATE '1970-01-01', answers_until), {LATEST_DAY}) AS INTEGER)",
)


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

    ``keys`` are columns to filter by. ``members`` are the members of a served row, in order;
    without them the table has keys only. ``inside`` are members taken over from the release JSON.
    A table without ``files`` is one file. ``merged_by`` are key columns: rows of several files are
    merged in their order, rows with equal ones in the order of the files. Without them, the files
    follow each other.
    """

    name: str
    rows: str
    order: str
    keys: tuple[str, ...]
    indexes: tuple[str, ...]
    members: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    packed: Packing = Packing()
    files: Files | None = None
    merged_by: tuple[str, ...] = ()


CATALOGUE_MEMBERS = (
    *("section", "name", "dataset", "country", "country_iso3", "type", "unit", "frequency"),
    *("organisations", "rows", "held_from", "held_to"),
)
CHANGE_MEMBERS = (
    *("changed_on", "dataset", "id", "country", "added", "restated", "withdrawn"),
    *("available_from", "available_to", "changed", "removed"),
)


def _figures(name: str) -> MartTable:
    """Return the table of figures with every vintage, or with those of the newest publications."""
    return MartTable(
        name,
        _WITH_ORGANISATION.format(f"SELECT *, row_id AS fact_id FROM {name}"),
        "organisation, period_end DESC, line_item, period_start DESC, unit, basis, service_id, "
        "vintage, available_at",
        ("organisation", "service_id", "period_type", "period_end", "line_item", *_VINTAGE),
        ("(organisation, row_number)",),
        _dated(("fact_id", *members_of(FundamentalVintage, "own")), FundamentalVintage),
        packed=Packing(4_096, "organisation", known=_KNOWN),
        files=Files("organisation", "hash", 4_096),
        merged_by=("organisation",),
    )


MART_TABLES = (
    _figures("fundamentals"),
    _figures("newest_statements"),
    MartTable(
        "filings",
        _WITH_ORGANISATION.format("SELECT * FROM filings"),
        # Newest first; a publication sorts by version. An undated one comes last.
        "organisation, coalesce(CAST(received_on AS VARCHAR), '') DESC, publication DESC, "
        "document_id DESC, coalesce(version, 0) DESC, source, vintage",
        ("organisation", "service_id", "form", "received_on", *_VINTAGE),
        ("(organisation, row_number)",),
        _dated(members_of(Filing, "own"), Filing),
        packed=Packing(1_024, "organisation", known=_KNOWN),
        files=Files("organisation", "hash", 4_096),
        merged_by=("organisation",),
    ),
    MartTable(
        "tender_releases",
        served_rows.RELEASES,
        served_rows.RELEASES_ORDER,
        ("country", "released_on", "category", "buyer_id", "ocid", "tender_status", *_VINTAGE),
        # Partial indexes: unknown text is stored as '', and such rows are never searched for.
        (
            "(country, released_on DESC, row_number)",
            "(country, category, released_on DESC, row_number) WHERE latest = 1",
            "(country, buyer_id, released_on DESC, row_number) WHERE buyer_id <> ''",
            "(ocid)",
        ),
        _dated(members_of(TenderReleaseVintage, "own"), TenderReleaseVintage),
        ("buyer", "tender", "awards", "contracts"),
        packed=Packing(64, "country", known=_KNOWN),
        files=Files("country", "value", 4_096, "released_on"),
    ),
    MartTable(
        "tender_parties",
        _WITH_ORGANISATION.format(served_rows.PARTIES),
        "country, role, releases DESC, name, party_id",
        ("country", "role", "organisation", "service_id"),
        (
            *("(country, role, row_number)", "(country, row_number)", "(role, row_number)"),
            "(organisation, row_number)",
        ),
        (
            *dict.fromkeys((*_PARTY, *members_of(TenderParty, "own"))),
            *PROVENANCE,
        ),
        files=Files("country", "value", 1 << 62),
    ),
    MartTable(
        # What is needed for the parties of a past day; `known` and `cited` are not served.
        "party_history",
        _WITH_ORGANISATION.format(served_rows.PARTY_HISTORY),
        "country, role, party_id",
        ("country", "role", "organisation", "available_at"),
        ("(country, role, row_number)", "(organisation, row_number)"),
        (
            *dict.fromkeys((*_PARTY_MEMBERS, *members_of(TenderParty, "own"))),
            *PROVENANCE,
            *("known", "cited"),
        ),
        # Always read as a whole: larger packs are smaller files.
        packed=Packing(128),
        files=Files("country", "value", 1 << 62),
    ),
    MartTable(
        "award_facts",
        _WITH_ORGANISATION.format(served_rows.AWARD_FACTS),
        "organisation, released_on DESC, fact_id, vintage",
        ("organisation", "service_id", "measure", *_VINTAGE),
        ("(organisation, row_number)",),
        (*members_of(SharedFact), "available_at", "vintage", *PROVENANCE),
        files=Files("organisation", "hash", 1_024),
        merged_by=("organisation",),
    ),
    MartTable(
        "tender_facts",
        served_rows.TENDER_FACTS,
        # Newest first; an undated one comes last: '' sorts before every date.
        "country_iso3, coalesce(CAST(released_on AS VARCHAR), '') DESC, ocid DESC, source DESC, "
        "vintage",
        ("country_iso3", "measure", *_VINTAGE),
        ("(country_iso3, row_number)",),
        (*members_of(SharedFact), "available_at", "vintage", *PROVENANCE),
        files=Files("country_iso3", "value", 4_096, "released_on"),
    ),
    MartTable(
        "macro_annual",
        "SELECT *, NULL::VARCHAR AS series_type, 'annual' AS frequency FROM macro_annual",
        "indicator, country_iso3, source, unit, base_period, period_end DESC, vintage",
        ("country", "country_iso3", "indicator", "period_end", "row_id", *_VINTAGE),
        ("(indicator, row_number)", "(country, row_number)", "(country_iso3, row_number)"),
        _dated(
            _insert(members_of(MacroAnnual, "own"), "indicator", "series_type", "frequency"),
            MacroAnnual,
        ),
        files=Files("source", "value", 1 << 62),
        merged_by=("indicator", "country_iso3"),
    ),
    MartTable(
        "macro_series",
        "SELECT * FROM macro_series",
        "series, country_iso3, source, frequency, unit, base_period, period_end DESC, vintage",
        (
            *("series", "country_iso3", "frequency", "country", "series_type", "period_end"),
            *("row_id", *_VINTAGE),
        ),
        (
            *("(series, row_number)", "(country, row_number)", "(country_iso3, row_number)"),
            "(series_type, row_number)",
        ),
        _dated(members_of(MacroSeries, "own"), MacroSeries),
        packed=Packing(16_384, "series", known=_KNOWN),
        files=Files("series", "hash", 8_192),
        merged_by=("series",),
    ),
    MartTable(
        "entities",
        # Texts in which a dataset or an exchange is found between blanks.
        "SELECT *, concat(' ', array_to_string(datasets, ' '), ' ') AS held_in, "
        "concat(' ', array_to_string(list_transform(listings, LAMBDA each: each.mic), ' '), ' ') "
        f"AS exchanges FROM ({served_rows.CURRENT_ENTITIES})",
        "service_id",
        (
            *("service_id", "legal_name", "jurisdiction", "country", "country_iso3"),
            *("held_in", "exchanges"),
        ),
        ("(service_id)",),
        (
            *members_of(Entity, "own"),
            *("aliases", "joins", "listings", "datasets", *PROVENANCE),
        ),
        packed=Packing(1, "service_id"),
    ),
    MartTable(
        "identifiers",
        served_rows.CURRENT_IDENTIFIERS,
        "organisation, id_type, id_value, issuer, source",
        ("organisation", "id_type", "id_match", "issuer"),
        ("(organisation, row_number)", "(id_match, id_type, row_number)"),
        # Only the source, the licence and the time of its provenance.
        (*members_of(EntityIdentifier, "own"), "match_method", *PROVENANCE[:3]),
    ),
    MartTable(
        # What can be searched for; the tables it is found by lie beside it (``search_index``).
        "search",
        served_rows.SEARCHABLE,
        served_rows.SEARCHABLE_ORDER,
        ("kind", "id", "countries"),
        (),
        served_rows.SEARCHABLE_MEMBERS,
    ),
    MartTable(
        "same_as",
        "SELECT * FROM same_as",
        "service_id",
        ("service_id", "same_as"),
        ("(service_id)", "(same_as)"),
    ),
    MartTable(
        "countries",
        "SELECT * FROM countries",
        "country",
        ("country", "country_iso3", "name"),
        ("(country_iso3)",),
    ),
    MartTable(
        "metrics",
        _WITH_ORGANISATION.format(
            "SELECT metrics.* REPLACE (CAST(inputs AS JSON) AS inputs, "
            "CAST(value AS JSON) AS value), CAST(value AS DOUBLE) AS size, legal_name, country "
            f"FROM metrics LEFT JOIN ({served_rows.NAMED_ENTITIES}) AS entity USING (service_id)"
        ),
        "organisation, metric, size DESC, period_end DESC, basis, currency",
        ("metric", "organisation", "service_id", "answers_from", "answers_until"),
        ("(organisation, row_number)", "(organisation, metric)"),
        (
            *_insert(members_of(Metric, "own"), "service_id", "legal_name", "country"),
            *PROVENANCE,
        ),
        files=Files("organisation", "hash", 4_096),
        merged_by=("organisation",),
        packed=Packing(1_024, "organisation", frame_rows=32, known=_ANSWERS),
    ),
    MartTable(
        # All that a screen ranks and counts; the rows it shows are read from the metrics.
        "screens",
        "SELECT metric, CAST(value AS DOUBLE) AS size, service_id AS organisation, country, "
        "answers_from, answers_until FROM metrics "
        f"LEFT JOIN ({served_rows.NAMED_ENTITIES}) AS entity USING (service_id)",
        "metric, size DESC, organisation, answers_until",
        ("metric", "size", "organisation", "country", "answers_from", "answers_until"),
        ("(metric, row_number)", f"(metric, row_number) WHERE answers_until = '{NEVER}'"),
        # By organisation: one that restates its figures changes its rows of every day.
        files=Files("organisation", "hash", 32_768),
        merged_by=("metric", "size DESC", "organisation"),
    ),
    MartTable(
        "metrics_absent",
        "SELECT metrics_absent.*, country FROM metrics_absent "
        f"LEFT JOIN ({served_rows.NAMED_ENTITIES}) AS entity USING (service_id)",
        "metric, service_id, period_end DESC, reason",
        ("metric", "service_id", "country", "reason", "holds_from", "holds_until"),
        ("(metric, row_number)", f"(metric, row_number) WHERE holds_until = '{NEVER}'"),
        files=Files("service_id", "hash", 32_768),
        merged_by=("metric", "service_id"),
    ),
    MartTable(
        "signals",
        "SELECT * FROM signals",
        # Newest first, whether or not a country is asked for.
        "signal_key, month DESC, country, dimension, dimension_value, measure, currency, "
        "service_id, vintage",
        (
            *("signal_key", "country", "month", "closed_at", "dimension", "dimension_value"),
            *("measure", "available_at", "superseded_at"),
        ),
        ("(signal_key, row_number)",),
        (*members_of(Signal, "own"), *PROVENANCE),
        files=Files("country", "value", 16_384, "month"),
        merged_by=("signal_key", "month DESC"),
    ),
    MartTable(
        "quality",
        # A value that was not measured is served as the text UNMEASURED, not as null.
        "SELECT * RENAME (value AS measured), CAST(CASE WHEN value IS NULL OR "
        "status = 'UNMEASURED' THEN '\"UNMEASURED\"' ELSE "
        "rtrim(rtrim(CAST(value AS VARCHAR), '0'), '.') END AS JSON) AS value FROM quality "
        "WHERE data_version = this_version()",
        "sku, dimension, metric, scope, unit, measured_at",
        ("sku",),
        ("(sku, row_number)",),
        members_of(QualityMetric),
    ),
    MartTable(
        "catalogue",
        served_rows.CATALOGUE,
        "section, name, country, country_iso3, frequency, unit, type",
        ("section", "name", "dataset", "country", "country_iso3"),
        ("(section, row_number)",),
        CATALOGUE_MEMBERS,
    ),
    MartTable(
        "changes",
        served_rows.CHANGES,
        "changed_on DESC, dataset, id, country",
        ("changed_on", "dataset", "id", "country"),
        ("(dataset, row_number)", "(id, row_number)"),
        CHANGE_MEMBERS,
        files=Files("dataset", "value", 16_384, "changed_on"),
        merged_by=("changed_on DESC",),
    ),
    MartTable(
        # What pages show of the whole build, by name; whoever publishes computes it.
        "page_data",
        "SELECT name, CAST(body AS JSON) AS body FROM page_data",
        "name",
        ("name",),
        ("(name)",),
        ("body",),
        packed=Packing(1),
    ),
)
