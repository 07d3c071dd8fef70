"""Lists of public tenders: releases, their parties, who won what, and panels of signals."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import takewhile
from typing import Any

import msgspec

from warehouse.contract.limits import check_search_words
from warehouse.contract.listing import ListRows, Question
from warehouse.contract.problems import OF_TENDERS, missing_parameter, unknown_id, unknown_word
from warehouse.methodology.signals import PANEL_BY_KEY
from warehouse.publish.row_json import NEVER, NEVER_DAY
from warehouse.publish.served_rows import CITED
from warehouse.publish.tables import NOT_SERVED
from warehouse.serve.build import Build
from warehouse.serve.catalogue import page_data
from warehouse.serve.entities import entity, is_known_id, organisation_id
from warehouse.serve.largest import largest
from warehouse.serve.rows import (
    IN_ORDER,
    NO_ROW,
    Condition,
    Key,
    Order,
    RowPage,
    between,
    cap_at_today,
    equal,
    fetch_keyed,
    fetch_rows,
    files_for,
    known_on,
    latest_on,
    make_page,
    matching,
    page_of,
    published_by,
    row_statement,
)
from warehouse.serve.search import text_matches
from warehouse.serve.table_query import Empty, Filter, TableQuery, filters_of, query_rows, why_empty
from warehouse.shared.json_encoding import decode_object, encode, encode_object

# Releases, newest first: of a country by many filters, or of one process.

_RELEASES = "tender_releases"
# The files of a country follow each other, newest first.
_NEWEST_FIRST = Order("released_on DESC, row_number")


def tenders(question: Question) -> ListRows:
    """Return the releases of a country, newest first or by the value of their tenders.

    A release without a date comes last, and is left out if a day bounds them. ``buyer``
    and ``supplier`` are ids of them or words of their names, ``query`` words of title, description
    or buyer; the last word may be a prefix. With a ``publication``, only those that are the newest
    of their process.
    """
    build, limit, after, (from_, to) = question.build, question.limit, question.after, question.days
    category, buyer, status, as_of = (
        question.parameters[name] for name in ("category", "buyer", "status", "as_of")
    )
    by_value = question.parameters["order"] == "value"
    is_newest = question.parameters["publication"] is not None
    sought = _sought(question)
    for name, text in sought.items():
        check_search_words(name, text)
    country = question.country or ""
    if not (sought or by_value or is_newest or any((from_, to, category, status))):
        # Without a filter, whole runs of rows can be sent as they lie in the packs.
        return ListRows(latest_on(build, _RELEASES, country, as_of, limit, after))
    dated = between("released_on", from_, to)
    files = list(files_for(build, _RELEASES, [*equal(country=country), *dated]))
    where = [*equal(category=category, tender_status=status), *dated]
    # A release without a date has '', which sorts before every day.
    where += [Condition("released_on <> ''")] if to is not None else []
    if buyer is not None and is_known_id(build, buyer.upper()):
        where += _bought_by(build, sought.pop("buyer"))
    if is_known_id(build, sought.get("supplier", "").upper()):
        sought["supplier"] = organisation_id(build, sought["supplier"].upper())
    with_words = [text_matches(text, _COLUMN_OF[name]) for name, text in sought.items()]
    order, known = _NEWEST_FIRST, [*known_on(as_of), *equal(country=country)]
    if with_words:
        # The words are selective: no index on latest (the unary +) or on the country helps.
        order, known = (
            Order(IN_ORDER),
            [
                msgspec.structs.replace(each, sql=each.sql.replace("latest = 1", "+latest = 1"))
                for each in known_on(as_of)
            ],
        )
    newest, one_more = [_newest_in_file(as_of)], None if limit is None else limit + 1
    where = [*with_words, *where, *known, *(newest if is_newest else ())]

    def read(after: Key | None) -> RowPage:
        if by_value:
            rows = largest(build, _RELEASES, files, where, one_more, after)
            return make_page(build, rows, limit)
        keyed = fetch_keyed(build, "row", _RELEASES, where, order, one_more, after, files)
        return make_page(build, [(key, row) for key, (row,) in keyed], limit)

    page, rows = read(after), list[tuple[Key, bytes]]()
    while is_newest:
        found = zip(page.keys, page.rows, strict=True)
        rows += [each for each in found if _is_newest(build, country, each, as_of)]
        # Some may have been left out: then a page needs more.
        if not page.truncated or len(rows) > len(page.rows):
            return ListRows(make_page(build, rows, limit))
        page = read(page.keys[-1])
    return ListRows(page)


def _newest_in_file(as_of: date | None) -> Condition:
    """Match releases that no newer one of their process follows in the file, as known on a day."""
    known, values = matching(_RELEASES, known_on(as_of))
    return Condition(
        f"NOT EXISTS (SELECT 1 FROM {_RELEASES} AS newer WHERE newer.ocid = {_RELEASES}.ocid "
        f"AND newer.row_number < {_RELEASES}.row_number AND {known})",
        tuple(values),
    )


def _is_newest(build: Build, country: str, release: tuple[Key, bytes], as_of: date | None) -> bool:
    """Return whether no file before that of a release has one of its process."""
    (*_, label, _), row = release
    ocid = _TEXT.decode(decode_object(row)["ocid"])
    statement, values = row_statement("1", _RELEASES, [*equal(ocid=ocid), *known_on(as_of)])
    files = build.files_with(_RELEASES, "country", country)
    newer = takewhile(lambda file: file.label != label, files)
    return not any(file.run(f"{statement} LIMIT 1", values) for file in newer)


def _bought_by(build: Build, buyer: str) -> list[Condition]:
    """Match releases of a buyer, by its id or by words of its name."""
    if not is_known_id(build, buyer.upper()):
        return [text_matches(buyer, _COLUMN_OF["buyer"])]
    # The first condition lets the planner use the partial index on buyer_id.
    return [Condition("buyer_id <> ''"), *equal(buyer_id=organisation_id(build, buyer.upper()))]


# Which texts of a release have the words of a parameter. Not those of a supplier for query: firms
# are called by what others buy.
_COLUMN_OF = {"buyer": "name", "supplier": "supplier", "query": "name more"}


def _sought(question: Question) -> dict[str, str]:
    """Return the words that releases are sought by, by parameter."""
    words = ((name, question.parameters[name]) for name in _COLUMN_OF)
    return {name: text for name, text in words if text is not None}


def why_no_tenders(question: Question) -> Empty:
    """Return why there are no such releases."""
    parameters, as_of = question.parameters, question.parameters["as_of"]
    filters = filters_of(country=question.country, category=parameters["category"])
    if (status := parameters["status"]) is not None:
        filters.append(Filter("status", status, equal(tender_status=status), "tender_status"))
    known = known_on(as_of)
    query = TableQuery(_RELEASES, "releases", filters, known, as_of, "released_on", question.days)
    empty = why_empty(question.build, query)
    sought = _sought(question)
    if empty.code != "no_match" or not sought:
        return empty
    stated = " and ".join(f"{name} {value!r}" for name, value in sought.items())
    detail = (
        f"No releases that match all other filters have every word of {stated}: try fewer words, "
        "or fewer filters."
    )
    if "supplier" in sought and (withheld := _withheld(question, "supplier")):
        detail += (
            f" In releases of this time {withheld:,} suppliers are withheld: no name finds them."
        )
    return replace(empty, detail=detail, parameter=next(iter(sought)))


def tender(question: Question) -> ListRows:
    """Return the releases of one contracting process, newest first, or the newest alone."""
    build, query = question.build, tender_query(question)
    rows = query_rows(build, query, **question.page)
    if question.parameters["publication"] is not None:
        rows = page_of(build, rows.rows[:1], None)
    if not rows.rows and not fetch_rows(build, "1", _RELEASES, query.named, limit=1):
        raise unknown_id(question.parameters["ocid"], OF_TENDERS)
    return ListRows(rows)


def tender_query(question: Question) -> TableQuery:
    """Ask for the releases of one contracting process."""
    as_of, filters = question.parameters["as_of"], filters_of(ocid=question.parameters["ocid"])
    return TableQuery(_RELEASES, "releases", filters, known_on(as_of), as_of, "released_on")


# Buyers, suppliers and other parties of releases: as they are known now, or on a past day.

Members = dict[str, bytes]
_EPOCH = date(1970, 1, 1)
# When a release became known, when it was superseded, its day, and the number of its process.
_KNOWN = msgspec.json.Decoder(list[tuple[int, int, int | None, int]])
# Where each of those releases was read, member by member as JSON.
_CITED = msgspec.json.Decoder(list[list[msgspec.Raw]])
_TEXT = msgspec.json.Decoder(str | None)


def parties(question: Question) -> ListRows:
    """Return the parties of releases, those in most of them first within each role.

    With ``as_of`` only releases that were known on that day are counted, and names are those of
    the first of them. Which organisation a party is does not depend on the day. The days bound
    those of the releases that are counted, the newest of which is cited.
    """
    extra = {"parties_withheld": _withheld(question, question.parameters["role"])}
    if question.parameters["as_of"] is None and question.days == (None, None):
        query = TableQuery("tender_parties", "parties", _party_filters(question))
        return ListRows(query_rows(question.build, query, **question.page), extra=extra)
    rows = [row for _, row in sorted(_counted(question))]
    return ListRows(page_of(question.build, rows, **question.page), extra=extra)


def _withheld(question: Question, role: str | None) -> int | None:
    """Return how many parties of the releases of a country are withheld, of those that count.

    None for a list of the parties of no country, of an organisation or of a buyer.
    """
    build, country = question.build, question.country
    if country is None or any(question.parameters.get(each) for each in ("service_id", "buyer")):
        return None
    name = f"withheld/{country}"
    # It is the same for every page of every list of the build. A country without one has no entry.
    rows = build.made_once(name, lambda: msgspec.json.decode(page_data(build, name) or b"[]"))
    counts, withheld = _counting(question), 0
    for each in rows:
        if role in (None, each["role"]) and counts(each["since"], each["until"], each["released"]):
            withheld += each["parties"]
    return withheld


def why_no_parties(question: Question) -> Empty:
    """Return why there are no such parties."""
    build, filters = question.build, _party_filters(question)
    as_of, days = question.parameters["as_of"], question.days
    query = TableQuery("tender_parties", "parties", filters)
    if as_of is not None:
        # The read found none that was known: what was public by then was withdrawn.
        query = TableQuery("party_history", "parties", filters, [NO_ROW], as_of)
    empty = why_empty(build, query)
    if empty.code in ("no_match", "withdrawn") and days != (None, None):
        known = "" if as_of is None else f" of those that were known on {as_of}"
        detail = f"No release of a day between the bounds{known} names such a party."
        return Empty("out_of_range", detail, "from" if days[0] else "to")
    return empty


def _party_filters(question: Question) -> list[Filter]:
    filters = filters_of(country=question.country, role=question.parameters["role"])
    if (service_id := question.parameters["service_id"]) is not None:
        owner = organisation_id(question.build, service_id)
        filters.append(Filter("service_id", service_id, equal(service_id=owner)))
    return filters


def _histories(question: Question) -> Iterator[Members]:
    """Yield the members of every party that was known on a day."""
    where = [each for one in _party_filters(question) for each in one.where]
    where += published_by(question.parameters["as_of"])
    for (row,) in fetch_rows(question.build, "row", "party_history", where):
        yield decode_object(row)


def _counted(question: Question) -> Iterator[tuple[tuple[Any, ...], bytes]]:
    """Yield the parties of releases that were known on a day, each with its place in the order."""
    counts = _counting(question)
    for members in _histories(question):
        cited, releases = members["cited"], _KNOWN.decode(members["known"])
        known = [
            (released, process, place)
            for place, (since, until, released, process) in enumerate(releases)
            if counts(since, until, released)
        ]
        if not known:
            continue
        *_, newest = max(known, key=lambda release: (release[0] or 0, release[2]))
        members |= zip(CITED, map(bytes, _CITED.decode(cited)[newest]), strict=True)
        released_days = [released for released, *_ in known if released is not None]
        counted = {
            "releases": encode(len(known)),
            "processes": encode(len({process for _, process, _ in known})),
            "first_release": encode(_day(min(released_days, default=None))),
            "last_release": encode(_day(max(released_days, default=None))),
        }
        country, role, name, party_id = (
            _TEXT.decode(members[member]) or ""
            for member in ("country", "role", "name", "party_id")
        )
        yield (country, role, -len(known), name, party_id), _spliced(members, counted)


def _counting(question: Question) -> Callable[[int, int, int | None], bool]:
    """Return a test of whether a fact counts, by its days: known from, known until, and its own.

    All are days since 1970. A fact without a day of its own counts only if there are no bounds.
    """
    day = (min(question.parameters["as_of"] or date.max, datetime.now(UTC).date()) - _EPOCH).days
    first, last = (None if bound is None else (bound - _EPOCH).days for bound in question.days)

    def counts(since: int, until: int, of: int | None) -> bool:
        is_known = since <= day < until
        if of is None:
            return is_known and first is None and last is None
        return is_known and (first is None or first <= of) and (last is None or of <= last)

    return counts


def _spliced(members: Members, counted: Members) -> bytes:
    """Return a row with the counted members in the place that they have in every row."""
    names = [name for name in members if name not in NOT_SERVED]
    place = names.index("identifier") + 1
    ordered = {name: members[name] for name in names[:place]} | counted
    return encode_object(ordered | {name: members[name] for name in names[place:]})


def _day(number: int | None) -> date | None:
    return None if number is None or number >= NEVER_DAY else _EPOCH + timedelta(number)


# Who won what.


_PARTY_ID = re.compile(r"[0-9A-Fa-f]{32}")


class _Award(msgspec.Struct):
    """The members of an award that go into sums."""

    value: Decimal
    ocid: str
    unit: str | None = None


# Of each award that a supplier won: when it became known and was superseded, its day, its process,
# its currency and value. Then where it was read.
_WON = msgspec.json.Decoder(
    list[tuple[int, int, int | None, str, str | None, Decimal | None]] | None
)
_Won = tuple[tuple[int, int, int | None, str, str | None, Decimal | None], list[msgspec.Raw]]


def awards(question: Question) -> ListRows:
    """Return the awards that an organisation won, newest first, or the suppliers of a country.

    By value, awards in the currency that most of them have come first, the largest of them before
    all. Nothing is converted. With a buyer, awards of processes in which it bought.
    """
    service_id, country = question.parameters["service_id"], question.country
    if service_id is None and country is None:
        raise missing_parameter("service_id", "an organisation, or a country for its suppliers")
    if service_id is None:
        return _suppliers(question)
    found, bought = query_rows(question.build, _awards_of(question), None, None), _bought(question)
    every = ((msgspec.json.decode(row, type=_Award), row) for row in found.rows)
    won = [each for each in every if bought is None or each[0].ocid in bought]
    if question.parameters["order"] == "value":
        ranks = _ranks(award.unit for award, _ in won)
        won.sort(key=lambda each: (ranks[each[0].unit], -each[0].value))
    totals = _totals((award.unit, award.value) for award, _ in won)
    page = page_of(question.build, [row for _, row in won], **question.page)
    return ListRows(page, extra={"totals": totals, "parties_withheld": None})


def _bought(question: Question) -> set[str] | None:
    """Return the processes in which the buyer bought; None if none is named."""
    buyer, as_of = question.parameters["buyer"], question.parameters["as_of"]
    if buyer is None:
        return None
    check_search_words("buyer", buyer)
    where = [*_bought_by(question.build, buyer), *equal(country=question.country), *known_on(as_of)]
    return {ocid for (ocid,) in fetch_rows(question.build, "ocid", _RELEASES, where)}


def _ranks(currencies: Iterable[str | None]) -> dict[str | None, int]:
    """Return the rank of each currency: that of most values is the first."""
    counted = Counter(currencies).most_common()
    return {currency: rank for rank, (currency, _) in enumerate(counted)}


def _totals(values: Iterable[tuple[str | None, Decimal | None]]) -> list[dict[str, object]]:
    """Return the number and the sum of stated values by currency."""
    by_currency: dict[str | None, list[Decimal]] = {}
    for currency, value in values:
        if value is not None:
            by_currency.setdefault(currency, []).append(value)
    return [
        {"currency": currency, "awards": len(of_currency), "value": sum(of_currency)}
        for currency, of_currency in sorted(by_currency.items(), key=lambda item: item[0] or "")
    ]


def _awards_of(question: Question) -> TableQuery:
    """Ask for the awards of an organisation, or of a party that no register knows."""
    as_of, service_id = question.parameters["as_of"], question.parameters["service_id"]
    owner = organisation_id(question.build, service_id)
    # Ids of parties are hashes, in lower case.
    owner = owner.lower() if _PARTY_ID.fullmatch(owner) else owner
    filters = [Filter("service_id", service_id, equal(organisation=owner))]
    filters += filters_of(country=question.country)
    known, days = known_on(as_of), question.days
    return TableQuery("award_facts", "awards", filters, known, as_of, "period_end", days)


def _suppliers(question: Question) -> ListRows:
    """Return the suppliers of a country, those that won awards of most processes first.

    Awards of days between the bounds count. Portals name one organisation in several ways: what is
    resolved to it is counted together.
    """
    build, suppliers = question.build, list(_winners(question).items())
    every = [win for _, (_, won) in suppliers for win, _ in won]
    ranks = _ranks(currency for *_, currency, value in every if value is not None)
    by_value = question.parameters["order"] == "value"

    def order(supplier: tuple[str, tuple[Members, list[_Won]]]) -> tuple[Any, ...]:
        owner, (_, won) = supplier
        sums = Counter[str | None]()
        for (*_, currency, value), _ in won if by_value else ():
            sums[currency] += value or 0  # type: ignore[assignment]
        largest = [-sums[currency] for currency in ranks] if by_value else []
        return *largest, -len({process for (*_, process, _, _), _ in won}), -len(won), owner

    suppliers.sort(key=order)
    begin = 0 if question.after is None else int(question.after[0])
    one_more = None if question.limit is None else begin + question.limit + 1
    keyed = [
        ((str(number),), _supplier(build, members, won))
        for number, (_, (members, won)) in enumerate(suppliers[begin:one_more], begin + 1)
    ]
    totals = _totals((currency, value) for *_, currency, value in every)
    extra = {"totals": totals, "parties_withheld": _withheld(question, "supplier")}
    return ListRows(make_page(build, keyed, question.limit), extra=extra)


def _winners(question: Question) -> dict[str, tuple[Members, list[_Won]]]:
    """Return what each supplier won on days between the bounds, as it was known, by its id."""
    counts, bought = _counting(question), _bought(question)
    winners: dict[str, tuple[Members, list[_Won]]] = {}
    for members in _histories(_as_suppliers(question)):
        wins = _WON.decode(members["won"]) or ()
        cited = _CITED.decode(members["won_cited"]) if wins else ()
        won = [
            (win, place)
            for win, place in zip(wins, cited, strict=True)
            if counts(*win[:3]) and (bought is None or win[3] in bought)
        ]
        if won:
            owner = _TEXT.decode(members["service_id"]) or _TEXT.decode(members["party_id"])
            winners.setdefault(owner or "", (members, []))[1].extend(won)
    return winners


def _supplier(build: Build, members: Members, won: Sequence[_Won]) -> bytes:
    """Return a supplier with what it won, where that was read last, and its listings."""
    days = [day for (_, _, day, *_), _ in won if day is not None]
    counted = {
        "awards": len(won),
        "processes": len({process for (*_, process, _, _), _ in won}),
        "first_award": _day(min(days, default=None)),
        "last_award": _day(max(days, default=None)),
        "totals": _totals((currency, value) for (*_, currency, value), _ in won),
    }
    _, newest = max(won, key=lambda each: each[0][2] or 0)
    cited = members | dict(zip(CITED, map(bytes, newest), strict=True))
    service_id = _TEXT.decode(members["service_id"])
    page = None if service_id is None else entity(build, service_id)
    listings = b"[]" if page is None else decode_object(page.rows[0])["listings"]
    row = _spliced(cited, {name: encode(value) for name, value in counted.items()})
    return row[:-1] + b',"listings":' + listings + b"}"


def _as_suppliers(question: Question) -> Question:
    return msgspec.structs.replace(question, parameters={**question.parameters, "role": "supplier"})


def why_no_awards(question: Question) -> Empty:
    """Return why there are no such awards, or no such suppliers."""
    parameters = question.parameters
    if (buyer := parameters["buyer"]) is not None:
        of_any = msgspec.structs.replace(question, parameters={**parameters, "buyer": None})
        if not awards(of_any).rows.rows:
            return why_no_awards(of_any)
        detail = f"No such award is known of a process whose buyer is, or is called, {buyer!r}."
        return Empty("no_match", detail, "buyer")
    if parameters["service_id"] is None:
        return _why_no_suppliers(question)
    empty = why_empty(question.build, _awards_of(question))
    if empty.parameter != "service_id":
        return empty
    detail = "No award with a stated value is known that it won; search finds ids by name."
    return replace(empty, detail=detail)


def _why_no_suppliers(question: Question) -> Empty:
    """Return why no supplier of a country won anything."""
    empty = why_no_parties(_as_suppliers(question))
    if empty.code not in ("no_match", "withdrawn", "out_of_range"):
        return empty
    detail = "Suppliers are known, but no award to one of them that is of a day between the bounds."
    return Empty("out_of_range", detail, "to" if question.days[0] is None else "from")


# Panels of signals, newest month first.

PROCUREMENT_DEMAND = "procurement-demand"


def panel(question: Question) -> ListRows:
    """Return a panel; one without rows is empty. Any day of a month selects that month."""
    rows = query_rows(question.build, panel_query(question), **question.page)
    signal_key = question.parameters.get("signal_key", PROCUREMENT_DEMAND)
    if not rows.rows and signal_key not in PANEL_BY_KEY:
        raise unknown_word("signal_key", signal_key, sorted(PANEL_BY_KEY))
    return ListRows(rows)


def panel_query(question: Question) -> TableQuery:
    """Ask for a panel: months that were closed by a day, in the vintage of that day."""
    parameters, as_of, (from_, to) = (
        question.parameters,
        question.parameters["as_of"],
        question.days,
    )
    names = ("dimension", "dimension_value", "measure")
    key = parameters.get("signal_key", PROCUREMENT_DEMAND)
    filters = filters_of(signal_key=key, country=question.country)
    filters += filters_of(**{name: parameters[name] for name in names})
    if (category := parameters.get("category")) is not None:
        among = equal(signal_key=key, dimension="category")
        of_category = equal(dimension="category", dimension_value=category)
        filters.append(Filter("category", category, of_category, "dimension_value", among))
    # A month is stored as its first day: any later day of ``from`` would exclude it.
    days = (None if from_ is None else from_.replace(day=1), to)
    since = ("available_at", "closed_at")
    return TableQuery(
        "signals", "observations", filters, _closed_by(as_of), as_of, "month", days, since
    )


def _closed_by(as_of: date | None) -> list[Condition]:
    if as_of is None:
        return [Condition("superseded_at = ?", (NEVER,))]
    day = cap_at_today(as_of)
    closed_and_latest = "closed_at <= ? AND available_at <= ? AND superseded_at > ?"
    # A month is closed after it: later months lie in files that need not be read.
    not_later = Condition("month <= ?", (day,), "month", "<=")
    return [Condition(closed_and_latest, (day, day, day)), not_later]
