"""Lists of issuers: what they reported and filed, their metrics, and their rank by one."""

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple, get_args

import msgspec

from warehouse.contract.listing import ListRows, Parameters, Question
from warehouse.contract.problems import conflicting_parameters, unknown_id
from warehouse.contract.splits import LINES_OF_SHARES, Split, splits_of, with_splits
from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.methodology.metrics import ABSENT_REASONS, TRAILING, TRAILING_SET, AbsentReason
from warehouse.publish.row_json import NEVER
from warehouse.serve.build import Build
from warehouse.serve.entities import is_known_id, organisation_id, records
from warehouse.serve.packs import rows_by_number
from warehouse.serve.rows import (
    NO_ROW,
    Condition,
    Key,
    Order,
    RowPage,
    between,
    cap_at_today,
    equal,
    fetch_keyed,
    fetch_page,
    fetch_rows,
    files_for,
    known_on,
    latest_on,
    make_page,
    matching,
    one_of,
    page_of,
    published_by,
    row_statement,
)
from warehouse.serve.table_query import Empty, Filter, TableQuery, filters_of, why_empty
from warehouse.shared.json_encoding import decode_object, encode
from warehouse.tables.derived import DERIVED_ABSENCES

# Reported figures, as they were known on a day, newest period first.


def fundamentals(question: Question) -> ListRows:
    """Return the figures of one issuer; an alias gives those of the organisation."""
    service_id = question.parameters["service_id"]
    rows = facts_known(
        question.build, service_id, _lines(question), question.parameters, **question.page
    )
    if rows is None:
        raise unknown_id(service_id)
    return ListRows(rows)


def fundamentals_of_several(question: Question) -> ListRows:
    """Return the figures of several issuers, one after the other, in the order of their ids.

    Two ids of one organisation are one issuer.
    """
    build, limit, after, lines = question.build, question.limit, question.after, _lines(question)
    ids = question.parameters["service_ids"]
    owners = {organisation_id(build, service_id): service_id for service_id in ids}
    unknown = [
        service_id for owner, service_id in owners.items() if not is_known_issuer(build, owner)
    ]
    wanted = [service_id for service_id in owners.values() if service_id not in unknown]
    begin, place = (0, None) if after is None else (wanted.index(after[0]), after[1:])
    rows: list[tuple[Key, bytes]] = []
    for service_id in wanted[begin:]:
        remaining = None if limit is None else limit + 1 - len(rows)
        if remaining == 0:
            break
        page = facts_known(build, service_id, lines, question.parameters, remaining, place)
        place = None
        if page is not None:
            keys = ((service_id, *key) for key in page.keys)
            rows += zip(keys, page.rows, strict=True)
    return ListRows(make_page(build, rows, limit), extra={"unknown_ids": unknown})


def facts_known(
    build: Build,
    service_id: str,
    lines: Sequence[str],
    parameters: Parameters,
    limit: int | None = None,
    after: Key | None = None,
) -> RowPage | None:
    """Return the figures of an issuer that anyone could have known; None if the id is unknown.

    ``vintages`` latest is the newest of each figure unless it was withdrawn, as_reported the
    first, all every one; with a ``publication``, the figures of the newest that has the statement;
    with ``derived``, sums of figures.
    """
    as_of, vintages, period_type = (
        parameters[name] for name in ("as_of", "vintages", "period_type")
    )
    table, owner = _table(parameters), organisation_id(build, service_id)
    year = parameters["fiscal_year"]
    if vintages == "latest" and period_type is None and year is None and not lines:
        # The common case: whole runs from the packs, without looking at single rows.
        page = latest_on(build, table, owner, as_of, limit, after)
    else:
        where = [*equal(service_id=owner), *known_on(as_of, vintages)]
        where += _of_periods(table, owner, period_type, as_of)
        where += [one_of("line_item", lines)] if lines else []
        page = _of_year(build, table, where, year, limit, after)
    if parameters.get("adjust") and page.rows:
        splits = splits_known(build, owner, as_of)
        page = page.with_rows([with_splits(row, splits) for row in page.rows])
    # If nothing was known on that day, the page is empty; only an unknown id gives None.
    return page if page.rows or is_known_issuer(build, owner) else None


def _of_year(
    build: Build,
    table: str,
    where: Sequence[Condition],
    year: int | None,
    limit: int | None,
    after: Key | None,
) -> RowPage:
    """Return the figures that match, of periods in a fiscal year and balances at their ends."""
    if year is None:
        return fetch_page(build, table, where, limit, after=after)
    # Those of the years around it are read: the days of a fiscal year are those of its issuer.
    near = Condition("period_end >= ? AND period_end < ?", (f"{year - 1:04d}", f"{year + 2:04d}"))
    page = fetch_page(build, table, [*where, near], None, after=after)
    label, rows = b'FY%d"' % year, zip(page.keys, page.rows, strict=True)
    of_year = [row for row in rows if decode_object(row[1])["fiscal_label"].endswith(label)]
    return make_page(build, of_year, limit)


def _by_period(table: str, rows: str, filters: list[Filter], parameters: Parameters) -> TableQuery:
    """Ask for figures by their periods; a fiscal year is bounded by the days of its number."""
    as_of, year = parameters["as_of"], parameters["fiscal_year"]
    known = known_on(as_of, parameters.get("vintages") or "latest")
    days = (None, None) if year is None else (date(year, 1, 1), date(year, 12, 31))
    bounds = ("fiscal_year", "fiscal_year")
    return TableQuery(table, rows, filters, known, as_of, "period_end", days, bounds=bounds)


def splits_known(build: Build, owner: str, as_of: date | None) -> list[Split]:
    """Return the splits of an issuer that a filing had proven by a day, oldest first."""
    of_shares = [*equal(service_id=owner), one_of("line_item", LINES_OF_SHARES)]
    where = [*of_shares, *known_on(as_of, "all")]
    return splits_of(fetch_page(build, "fundamentals", where, None).rows)


def why_no_figures(question: Question) -> Empty:
    """Return why issuers have no such figures."""
    build, parameters, lines = question.build, question.parameters, _lines(question)
    parameter = "service_ids" if parameters.get("service_ids") else "service_id"
    ids = parameters.get("service_ids") or [parameters["service_id"]]
    owners = [organisation_id(build, service_id) for service_id in ids]
    filters = [Filter(parameter, ", ".join(ids[:5]), [one_of("service_id", owners)])]
    if lines:
        items = [one_of("line_item", lines)]
        filters.append(Filter("line_items", ", ".join(lines[:5]), items, "line_item"))
    filters += filters_of(period_type=parameters["period_type"])
    as_of, table = parameters["as_of"], _table(parameters)
    query = _by_period(table, "reported figures", filters, parameters)
    reason = why_empty(build, query)
    if table != "derived_figures" or reason.code == "not_known_then":
        return reason
    absent = [*query.named, *published_by(as_of), *between("period_end", *query.days)]
    absent.append(Condition("reason <> ''"))
    counted = Counter(str(why) for (why,) in fetch_rows(build, "reason", table, absent))
    stated = ", ".join(f"{why} {count} ({DERIVED_ABSENCES[why]})" for why, count in counted.items())
    stated = f"the reasons: {stated}" if stated else "what is reported comes without derived"
    return Empty("not_computable", f"None can be derived exactly{_on(as_of)}; {stated}.", "derived")


def _table(parameters: Parameters) -> str:
    """Return the table of the figures: line by line, derived, or of the newest publication."""
    if parameters.get("derived") and parameters.get("adjust"):
        detail = "Amounts of shares are not derived: leave out adjust, or derived."
        raise conflicting_parameters("adjust", detail)
    if parameters.get("publication") is None:
        return "derived_figures" if parameters.get("derived") else "fundamentals"
    if parameters.get("derived"):
        detail = "No publication states what is derived: leave out derived, or publication."
        raise conflicting_parameters("derived", detail)
    if parameters["vintages"] != "latest":
        detail = (
            "publication=newest takes the lines of a statement from one publication, which has no "
            "vintages of them: leave out vintages, or publication."
        )
        raise conflicting_parameters("publication", detail)
    return "newest_statements"


def _lines(question: Question) -> tuple[str, ...]:
    """Return the requested line items; an empty tuple means all."""
    named, statement = question.parameters["line_items"], question.parameters["statement"]
    if statement is None:
        return tuple(named or ())
    lines = [item.name for item in LINE_ITEMS if item.statement == statement]
    both = tuple(name for name in lines if named is None or name in named)
    if not both:
        detail = f"None of line_items is a line of the {statement} statement."
        raise conflicting_parameters("statement", detail)
    return both


def is_known_issuer(build: Build, owner: str) -> bool:
    """Return whether a register describes an organisation, or it reported figures."""
    of_owner = equal(service_id=owner)
    return is_known_id(build, owner) or bool(
        fetch_rows(build, "1", "fundamentals", of_owner, limit=1)
    )


def _of_periods(
    table: str, owner: str, period_type: str | None, as_of: date | None
) -> list[Condition]:
    """Match figures of periods of a type, and balances at the ends of those that were known."""
    if period_type in (None, "INSTANT", "OTHER"):
        return equal(period_type=period_type)
    of_type = [*equal(service_id=owner, period_type=period_type), *known_on(as_of, "all")]
    of_type.append(Condition("withdrawn = 0"))
    ends, values = matching(table, of_type)
    return [
        Condition(
            "(period_type = ? OR (period_type = 'INSTANT' AND period_end IN "
            f"(SELECT period_end FROM {table} WHERE {ends})))",
            (period_type, *values),
        )
    ]


# Every element that filings state, also of no line: which there are, and the values of one.


class _Named(msgspec.Struct):
    label: str | None


def elements(question: Question) -> ListRows:
    """Return the values of an element of one issuer; without one, which elements it has stated."""
    build, query, parameters = question.build, elements_query(question), question.parameters
    where, year = [*query.named, *query.known], parameters["fiscal_year"]
    if parameters["element"] is not None or year is not None:
        rows = _of_year(build, "elements", where, year, **question.page)
    else:
        rows = _elements_stated(question, where)
    service_id = question.parameters["service_id"]
    if not rows.rows and not is_known_issuer(build, organisation_id(build, service_id)):
        raise unknown_id(service_id)
    return ListRows(rows)


def elements_query(question: Question) -> TableQuery:
    """Ask for what filings of an issuer state of its elements, or of one."""
    service_id = question.parameters["service_id"]
    owner = organisation_id(question.build, service_id)
    filters = [Filter("service_id", service_id, equal(service_id=owner))]
    filters += filters_of(element=question.parameters["element"])
    return _by_period("elements", "elements", filters, question.parameters)


def why_no_elements(question: Question) -> Empty:
    """Return why an issuer has stated no such element; an operator can leave out all of them."""
    if not fetch_rows(question.build, "1", "elements", (), limit=1):
        detail = "No elements are published: SANKOFA_ELEMENTS=0 leaves them out. Line items are."
        return Empty("nothing_held", detail)
    return why_empty(question.build, elements_query(question))


def _elements_stated(question: Question, where: list[Condition]) -> RowPage:
    """Return each element with its span, in the order of their names."""
    build, limit = question.build, question.limit
    if question.after is not None:
        where = [*where, Condition("element > ?", (question.after[0],))]
    columns = (
        "element, count(*), min(period_end), max(period_end), group_concat(DISTINCT unit), "
        "service_id, min(row_number)"
    )
    statement, values = row_statement(columns, "elements", where, Order("element"))
    statement = statement.replace(" ORDER BY", " GROUP BY element ORDER BY")
    most = -1 if limit is None else limit + 1
    rows: list[tuple[Key, bytes]] = []
    # All rows of an issuer lie in one file. The newest of an element has its label of the day.
    for file in files_for(build, "elements", where):
        stated = file.run(f"{statement} LIMIT {most:d}", values)
        newest = rows_by_number(file, [row[-1] for row in stated])
        for (element, count, first, last, units, service_id, _), row in zip(
            stated, newest, strict=True
        ):
            described = {
                "service_id": service_id,
                "element": element,
                "label": msgspec.json.decode(row, type=_Named).label,
                "units": sorted(units.split(",")),
                "figures": count,
                "held_from": first,
                "held_to": last,
            }
            rows.append(((element,), encode(described)))
    return make_page(build, rows, limit)


def filings(question: Question) -> TableQuery:
    """Ask for the filings of an issuer, the one received last first.

    Every version of a document is a filing.
    """
    service_id, as_of = question.parameters["service_id"], question.parameters["as_of"]
    owner = organisation_id(question.build, service_id)
    filters = [Filter("service_id", service_id, equal(service_id=owner))]
    filters += filters_of(form=question.parameters["form"])
    known = known_on(as_of)
    return TableQuery("filings", "filings", filters, known, as_of, "received_on", question.days)


# Metrics of issuers, and rankings; only what was exactly computable on the day.


class _Tables(NamedTuple):
    """The tables of a set of metrics."""

    values: str = "metrics"
    ranked: str = "screens"
    absent: str = "metrics_absent"


def _tables(question: Question) -> _Tables:
    """Return the tables of the requested set; raise for a metric that it does not have."""
    metric = question.parameters["metric"]
    if question.parameters["metric_set"] != TRAILING_SET:
        return _Tables()
    slugs = [formula.slug for formula in TRAILING]
    if metric is not None and metric not in slugs:
        detail = (
            f"{metric} needs balances or the year before; {TRAILING_SET} has {', '.join(slugs)}."
        )
        raise conflicting_parameters("metric", detail)
    return _Tables("metrics_ttm", "screens_ttm", "metrics_ttm_absent")


# The order of screens, reversed.
_ASCENDING = ("metric", "size", "service_id DESC")


def metrics(question: Question) -> ListRows:
    """Return every metric of an issuer for its latest year, or twelve months, by ``as_of``."""
    table = _tables(question).values
    build, parameters, as_of = question.build, question.parameters, question.parameters["as_of"]
    owner = organisation_id(build, parameters["service_id"])
    if parameters["fiscal_year"] is not None:
        page = _metrics_of_year(question, owner)
    elif parameters["metric"] is None:
        page = latest_on(build, table, owner, as_of, **question.page)
    else:
        where = [*equal(service_id=owner, metric=parameters["metric"]), *_current_on(as_of)]
        page = fetch_page(build, table, where, **question.page)
    day = _as_of(as_of)
    return ListRows(page.with_rows([_with_as_of(row, day) for row in page.rows]))


def _metrics_of_year(question: Question, owner: str) -> RowPage:
    """Return the metrics of a year, also of one that is not the latest by ``as_of``."""
    build, parameters, as_of = question.build, question.parameters, question.parameters["as_of"]
    years = [*equal(service_id=owner, period_type="FY"), *known_on(as_of, "all")]
    stated = _of_year(build, "fundamentals", years, parameters["fiscal_year"], None, None).rows
    ends = {decode_object(row)["period_end"] for row in stated}
    of_owner = equal(service_id=owner, metric=parameters["metric"])
    where, by_day = [*of_owner, *published_by(as_of, "answers_from")], Order("answers_from")
    newest: dict[str, bytes] = {}
    for row, metric in fetch_rows(build, "row, metric", _tables(question).values, where, by_day):
        if decode_object(row)["period_end"] in ends:
            newest[metric] = row
    return page_of(build, [newest[metric] for metric in sorted(newest)], **question.page)


def why_no_metrics(question: Question) -> Empty:
    """Return why an issuer has no such metrics."""
    build, parameters = question.build, question.parameters
    service_id, metric, as_of = (parameters[name] for name in ("service_id", "metric", "as_of"))
    owner = organisation_id(build, service_id)
    absent = [*equal(service_id=owner, metric=metric), *_absent_on(as_of)]
    rows = fetch_rows(build, "metric, reason", _tables(question).absent, absent)
    reasons = {str(slug): str(reason) for slug, reason in rows}
    if reasons and parameters["fiscal_year"] is None:
        stated = ", ".join(f"{slug}: {reason}" for slug, reason in reasons.items())
        meanings = "; ".join(
            f"{reason}: {words}"
            for reason, words in ABSENT_REASONS.items()
            if reason in reasons.values()
        )
        detail = (
            f"Nothing is exactly computable{_on(as_of)}; the reasons: {stated} ({meanings}). The "
            "reported figures that were known then are in the fundamentals."
        )
        return Empty("not_computable", detail, "metric")
    filters = [Filter("service_id", service_id, equal(service_id=owner))]
    query = _by_period("fundamentals", "reported figures", filters, parameters)
    reason = why_empty(build, query)
    if reason.code != "no_match":
        return reason
    detail = "There are figures of this issuer, but of no full year that makes this computable."
    return Empty("not_computable", detail, "service_id")


def screen(question: Question) -> ListRows:
    """Rank issuers by a metric, and count those that are covered, ranked, and left out.

    ``rank`` is the position by value, not a rating.
    """
    build, parameters, after = question.build, question.parameters, question.after
    as_of, tables = parameters["as_of"], _tables(question)
    universe = equal(metric=parameters["metric"], country=question.country)
    # How many were ranked before is the last part of the key.
    place, ranked_before = (None, 0) if after is None else (after[:-1], int(after[-1]))
    where = [*universe, *_current_on(as_of)]
    page, count = _ranked(build, tables, where, parameters["order"], question.limit, place)
    day = _as_of(as_of)
    ranks = range(ranked_before + 1, ranked_before + 1 + len(page.rows))
    ranked = [_with_as_of(row, day, rank) for rank, row in zip(ranks, page.rows, strict=True)]
    keys = [(*key, str(rank)) for rank, key in zip(ranks, page.keys, strict=True)]
    page = msgspec.structs.replace(page, rows=ranked, keys=keys)
    counted = _universe(build, tables.absent, universe, as_of, count)
    names: list[dict[str, str | None]] = []
    if after is None:
        names = _left_out(build, tables.absent, universe, as_of, question.limit)
    return ListRows(page, extra={"universe": {**counted, "names": names}})


def why_no_issuers(question: Question) -> Empty:
    """Return why no issuer is ranked."""
    metric, as_of = question.parameters["metric"], question.parameters["as_of"]
    universe = equal(metric=metric, country=question.country)
    tables = _tables(question)
    reasons = _universe(question.build, tables.absent, universe, as_of, 0)["left_out"]
    if stated := ", ".join(f"{reason} {count}" for reason, count in reasons.items() if count):
        detail = f"No issuer has an exactly computable {metric}; left out are: {stated}."
        return Empty("not_computable", detail, "metric")
    filters, since = filters_of(metric=metric, country=question.country), ("answers_from",)
    query = TableQuery(tables.ranked, "values", filters, [NO_ROW], as_of, public_since=since)
    return why_empty(question.build, query)


def _ranked(
    build: Build,
    tables: _Tables,
    where: list[Condition],
    order: str,
    limit: int | None,
    after: Key | None,
) -> tuple[RowPage, int]:
    """Return the first rows by value, and how many issuers have one.

    An issuer has one row a day at most; issuers with the same value are ranked by their id.
    """
    one_more = None if limit is None else limit + 1
    by_value = Order("row_number DESC", _ASCENDING) if order == "asc" else None
    ranked = fetch_keyed(build, "service_id", tables.ranked, where, by_value, one_more, after)
    on_the_day = [condition for condition in where if condition.column != "country"]
    rows: list[tuple[Key, bytes]] = []
    # One statement for all issuers: a screen asks as many files as it has rows.
    statement, values = row_statement(
        "row_number", tables.values, [Condition("service_id = ?"), *on_the_day]
    )
    for key, (issuer,) in ranked:
        for file in build.files_with(tables.values, "service_id", issuer):
            numbers = [number for (number,) in file.run(statement, [issuer, *values])]
            rows += [(key, body) for body in rows_by_number(file, numbers)]
    count = row_statement("count(*)", tables.ranked, where, Order("1"))
    counts = [file.run(count[0], count[1]) for file in files_for(build, tables.ranked, where)]
    return make_page(build, rows, limit), sum(rows[0][0] for rows in counts)


def _universe(
    build: Build, table: str, universe: list[Condition], as_of: date | None, ranked: int
) -> dict[str, Any]:
    """Return how many issuers are covered, ranked, and left out by each reason."""
    absent = [*universe, *_absent_on(as_of)]
    conditions, values = matching(table, absent)
    statement = f"SELECT reason, count(DISTINCT service_id) FROM {table} "
    left_out = dict.fromkeys(get_args(AbsentReason), 0)
    # All rows of an issuer lie in one file.
    for file in files_for(build, table, absent):
        for reason, count in file.run(f"{statement} WHERE {conditions} GROUP BY 1", values):
            left_out[reason] += count
    return {"covered": ranked + sum(left_out.values()), "ranked": ranked, "left_out": left_out}


def _left_out(
    build: Build, table: str, universe: list[Condition], as_of: date | None, most: int | None
) -> list[dict[str, str | None]]:
    """Return the first issuers that are left out, each with its name and the reason."""
    absent, once = [*universe, *_absent_on(as_of)], Order("service_id", ("service_id",))
    rows = fetch_rows(build, "service_id, reason", table, absent, once)
    reasons = {str(service_id): str(reason) for service_id, reason in rows}
    chosen = sorted(reasons)[:most]
    found = records(build, chosen)
    names = {each: msgspec.json.decode(found[each])["legal_name"] for each in found}
    return [
        {"service_id": each, "legal_name": names.get(each), "reason": reasons[each]}
        for each in chosen
    ]


def _on(as_of: date | None) -> str:
    return "" if as_of is None else f" on {as_of}"


def _current_on(as_of: date | None) -> list[Condition]:
    return _interval("answers_from", "answers_until", as_of)


def _absent_on(as_of: date | None) -> list[Condition]:
    return _interval("holds_from", "holds_until", as_of)


def _interval(begin: str, end: str, as_of: date | None) -> list[Condition]:
    if as_of is None:
        # Written out: an index of rows that hold now is used for nothing else.
        return [Condition(f"{end} = '{NEVER}'")]
    day = cap_at_today(as_of)
    # Half-open, so that for every day at most one row of an issuer and metric is the answer.
    return [Condition(f"{begin} <= ?", (day,)), Condition(f"{end} > ?", (day,), end, ">=")]


def _as_of(as_of: date | None) -> bytes:
    return b"null" if as_of is None else encode(cap_at_today(as_of))


def _with_as_of(row: bytes, day: bytes, rank: int | None = None) -> bytes:
    """Put the members that depend on the request in front of a row's others."""
    # The row is a complete JSON object: its opening brace is replaced, nothing is parsed.
    rank_member = b"" if rank is None else b'"rank":%d,' % rank
    return b"{" + rank_member + b'"as_of":' + day + b"," + row[1:]
