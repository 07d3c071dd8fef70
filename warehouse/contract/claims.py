"""Whether a claimed figure was true, and could be known, on a day.

A claim is compared with figures of its own identity alone: the same period from its first day to
its last, the same unit, each basis by itself. Without a currency it is taken in the one in which
the issuer reports, never in a translation.
"""

import re
from calendar import monthrange
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import MAX_PREC, ROUND_HALF_EVEN, Context, Decimal, localcontext
from functools import lru_cache, partial
from typing import Any, Literal, TypeVar

import msgspec

from warehouse.contract.issuers import is_known_issuer
from warehouse.contract.listing import ListRows, Parameters, Question
from warehouse.contract.parameters import ABOUT
from warehouse.contract.problems import Problem, conflicting_parameters, unknown_id
from warehouse.serve.build import Build
from warehouse.serve.entities import organisation_id
from warehouse.serve.rows import Condition, between, equal, fetch_rows, in_country, page_of
from warehouse.shared.json_encoding import encode

T = TypeVar("T")
Verdict = Literal[
    "matches", "matches_rounded", "superseded", "differs", "not_knowable_then", "not_held"
]
# What a verdict shows of a row, where it has a value.
_SHOWN = (
    *("line_item", "series", "indicator", "country", "value_reported", "value"),
    *("currency_reported", "unit", "base_period", "basis", "frequency", "period_type"),
    *("period_start", "period_end", "fiscal_label", "vintage", "available_at"),
    *("restatement_kind", "document_id", "form", "document_url", "source_ref", "license_class"),
)
_COLUMNS = "row, available_at, superseded_at, latest, withdrawn"
_ROW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NULL = b"null"


class _Money(msgspec.Struct):
    currency_reported: str | None = None


_MONEY = msgspec.json.Decoder(_Money)
# Of several figures that fit, as many are shown.
_MOST_CANDIDATES = 4
_MOST_PERIODS = 8
_DEVIATION = Context(prec=4, rounding=ROUND_HALF_EVEN)


class Vintage(msgspec.Struct, frozen=True):
    """One value of a figure, and the days from which it was the last known, and no longer was."""

    members: Mapping[str, Any]
    value: Decimal | None
    since: str
    until: str
    is_latest: bool
    row: Mapping[str, msgspec.Raw]

    def was_known(self, day: date | None) -> bool:
        """Return whether it had been published on a day; None is now."""
        return self.value is not None and (day is None or self.since <= day.isoformat())

    def was_last(self, day: date | None) -> bool:
        """Return whether it was the last known value on a day; None is now."""
        if day is None:
            return self.is_latest
        return self.value is not None and self.since <= day.isoformat() < self.until


class Judged(msgspec.Struct, frozen=True):
    """A verdict on one figure: its vintage then, its vintage now, and the one that matches.

    ``rank`` orders verdicts over several figures that fit: the first is that of the claim.
    """

    verdict: Verdict
    rank: int
    then: Vintage | None
    now: Vintage | None
    matched: Vintage | None = None


# The currency in which an issuer reported, by day of publication.
Currencies = Mapping[str, str]


def claims(question: Question) -> ListRows:
    """Return a verdict on each claim, in their order."""
    verdicts = []
    for number, claim in enumerate(question.parameters["claims"]):
        try:
            verdicts.append(encode(_verdict(question.build, claim)))
        except Problem as problem:
            if number == 0:
                raise
            detail = f"claims[{number}]: {problem.detail}"
            raise Problem(problem.code, detail, **problem.members) from None
    return ListRows(page_of(question.build, verdicts, None))


def datasets_of_claims(parameters: Parameters) -> tuple[str, ...]:
    """Return the datasets that claims are about."""
    about_issuers = {claim["service_id"] is not None for claim in parameters["claims"]}
    return tuple("AF-FUND" if each else "AF-MACRO" for each in sorted(about_issuers))


def _verdict(build: Build, claim: Mapping[str, Any]) -> dict[str, object]:
    vintages = _read(build, claim)
    of_period = [each for each in vintages if _is_of(each.members, claim["period"])]
    fitting, other_currencies = _in_currency(build, claim, of_period)
    judged = [_judge(figure, claim["value"], claim["as_of"]) for figure in _figures(fitting)]
    if not judged:
        return _shown(claim, "not_held", _not_held(claim, vintages, of_period, other_currencies))
    best = min(judged, key=lambda each: each.rank)
    known = [each.then.row for each in judged if each.then is not None]
    candidates = known if best.verdict == "differs" and len(known) > 1 else []
    detail = _detail(claim, best, len(candidates))
    if best.verdict == "differs" and other_currencies:
        detail += (
            f" We also have it in {', '.join(other_currencies)}, if you send that as currency."
        )
    return _shown(claim, best.verdict, detail, best, candidates[:_MOST_CANDIDATES])


def _shown(
    claim: Mapping[str, Any],
    verdict: Verdict,
    detail: str,
    judged: Judged | None = None,
    candidates: Sequence[object] = (),
) -> dict[str, object]:
    claimed = claim["value"]
    then, now, matched = (
        (None, None, None) if judged is None else (judged.then, judged.now, judged.matched)
    )
    exact = None if matched is None or matched.value == claimed else matched.value
    return {
        "verdict": verdict,
        "detail": detail,
        "claimed": claimed,
        "as_of": claim["as_of"],
        "exact": exact,
        # By which part of the exact value the claim is off.
        "deviation": _DEVIATION.divide(claimed - exact, abs(exact)) if exact else None,
        "matched": None if matched is None or matched is then else matched.row,
        "known_then": None if then is None else then.row,
        # What became known later says nothing about the claim unless it was restated.
        "known_now": None if now is None or now is then else now.row,
        "candidates": candidates,
    }


def _judge(figure: Sequence[Vintage], claimed: Decimal, day: date | None) -> Judged:
    """Return the verdict on one figure, whose vintages are in the order of their publication."""
    then = next((each for each in reversed(figure) if each.was_last(day)), None)
    now = next((each for each in reversed(figure) if each.is_latest), None)
    published = [each for each in figure if each.was_known(day)]
    for agrees in (Decimal.__eq__, _rounds_to):
        # What was known on the day comes first, then what was published last.
        for vintage in (*([then] if then else []), *reversed(published)):
            if vintage.value is None or not agrees(vintage.value, claimed):
                continue
            # What was known on the day is right, whatever was restated after it.
            if vintage is not then:
                return Judged("superseded", 2, then, now, vintage)
            if vintage.value == claimed:
                return Judged("matches", 0, then, now, vintage)
            return Judged("matches_rounded", 1, then, now, vintage)
    later = (each.value for each in figure if each.value is not None and each not in published)
    if any(_rounds_to(value, claimed) for value in later):
        return Judged("not_knowable_then", 3, then, now)
    if published:
        return Judged("differs", 4, then, now)
    # This figure was not public then: a verdict on any that was comes before this one.
    return Judged("not_knowable_then", 5, then, now)


def _rounds_to(value: Decimal, claimed: Decimal) -> bool:
    """Return whether a value is the claimed one, or is it at the claim's precision."""
    if value == claimed:
        return True
    with localcontext(prec=MAX_PREC):
        digits = claimed.normalize()
        exponent = digits.as_tuple().exponent
        # At least two digits must agree: almost everything rounds to a single one.
        if not isinstance(exponent, int) or len(digits.as_tuple().digits) < 2:
            return False
        step = Decimal(1).scaleb(exponent)
        return abs(value - claimed) * 2 <= step


# Verdicts in words.


def _detail(claim: Mapping[str, Any], judged: Judged, count: int) -> str:
    then, now, matched = judged.then, judged.now, judged.matched
    by = "today" if claim["as_of"] is None else f"{claim['as_of']}"
    if judged.verdict == "differs" and count > 1:
        return f"{count} figures of this period were public by {by}, and none is the claimed one."
    if judged.verdict == "differs" and then is None:
        return f"The figure had been withdrawn by {by}, and was never the claimed one."
    if judged.verdict == "differs":
        return f"By {by} another figure was public: see known_then."
    if judged.verdict == "not_knowable_then":
        known = "No such figure of this period" if then is None else "Only another value"
        later = "what became public later must not be presented as known then."
        return f"{known} is known to have been public by {by}; {later}{_rebased(then, now)}"
    assert matched is not None
    follows, shown = (then, "known_then") if judged.verdict == "superseded" else (now, "known_now")
    words = f"The figure was right from {matched.since}"
    rebased = _rebased(matched, follows)
    if follows is not None and follows.value == matched.value and not rebased:
        words = f"The figure was public by {by} and is the latest that is known."
    elif follows is None:
        words += "; it was withdrawn later."
    else:
        words += f"; since {follows.since} it is another: see {shown}.{rebased}"
    if matched.value != claim["value"]:
        words += f" The claim is rounded: the exact value is {matched.value:f}."
    return words


def _rebased(before: Vintage | None, after: Vintage | None) -> str:
    """Return what to say of a series that has been put on another base."""
    if before is None or after is None:
        return ""
    bases = before.members.get("base_period"), after.members.get("base_period")
    if bases[0] == bases[1] or None in bases:
        return ""
    return (
        f" The series was rebased from {bases[0]} to {bases[1]} on {after.since}: values on the "
        "two bases cannot be compared."
    )


def _not_held(
    claim: Mapping[str, Any],
    vintages: Sequence[Vintage],
    of_period: Sequence[Vintage],
    other_currencies: Sequence[str],
) -> str:
    """Return why a claim can be neither confirmed nor refuted, and what could be."""
    if other_currencies:
        named = claim["currency"] or "the currency in which the issuer reports"
        instead = ", ".join(other_currencies)
        return f"We have this figure in {instead}, not in {named}: send the currency that is meant."
    if of_period:
        units = sorted({each.members["unit"] for each in of_period if "unit" in each.members})
        return f"The figure is in {', '.join(units)}, which is no currency: leave currency out."
    if vintages:
        names = sorted({_period_of(each.members) for each in vintages})
        return (
            f"We have no figure of {claim['period']}, only {', '.join(names[:_MOST_PERIODS])}. "
            "Name one of those periods, or the last day of one."
        )
    return "We have no figure of this period: the claim can be neither confirmed nor refuted."


def _period_of(members: Mapping[str, Any]) -> str:
    if "frequency" in members:
        return f"{members['frequency']} figures"
    return f"{members.get('fiscal_label') or members['period_type']} to {members['period_end']}"


# Rows of the line, the series or the indicator, and which of them have the claim's identity.


def _read(build: Build, claim: Mapping[str, Any]) -> list[Vintage]:
    """Return the vintages that end in or near the period of a claim."""
    about = [name for name in ABOUT if claim[name] is not None]
    if len(about) != 1:
        detail = "A claim is about one of service_id with line_item, series, and indicator."
        raise conflicting_parameters("service_id", detail)
    (subject,) = about
    needed, other = ABOUT[subject]
    for name in needed:
        if claim[name] is None:
            raise conflicting_parameters(name, f"A claim with {subject} needs {name}.")
    if claim[other] is not None:
        raise conflicting_parameters(other, f"A claim with {subject} has no {other}: leave it out.")
    first, last = _days(claim["period"])
    if claim["service_id"] is not None:
        owner = organisation_id(build, claim["service_id"])
        # A financial year may be labelled by another one than that in which it ends.
        if first != last:
            first -= min(_YEAR_AROUND, first - date.min)
            last += min(_YEAR_AROUND, date.max - last)
        where = equal(service_id=owner, line_item=claim["line_item"])
        where += between("period_end", first, last)
        vintages = _remembered(build, _vintages)("fundamentals", tuple(where), "value_reported")
        if not vintages and not is_known_issuer(build, owner):
            raise unknown_id(claim["service_id"])
        return vintages
    where = [*in_country(claim["country"]), *between("period_end", first, last)]
    if claim["series"] is not None:
        where += equal(series=claim["series"])
        return _remembered(build, _vintages)("macro_series", tuple(where), "value")
    where += equal(indicator=claim["indicator"])
    return _remembered(build, _vintages)("macro_annual", tuple(where), "value")


def _remembered(build: Build, read: Callable[..., T]) -> Callable[..., T]:
    """Return a read of a build that remembers what it found: claims are about few figures."""
    return build.made_once(read.__name__, lambda: lru_cache(_MOST_READS)(partial(read, build)))


def _vintages(build: Build, table: str, where: Iterable[Condition], value: str) -> list[Vintage]:
    vintages = []
    for body, since, until, is_latest, withdrawn in fetch_rows(build, _COLUMNS, table, where):
        raw = _ROW.decode(body)
        number = bytes(raw[value])
        row = {name: raw[name] for name in _SHOWN if bytes(raw.get(name, _NULL)) != _NULL}
        members = {name: msgspec.json.decode(raw) for name, raw in row.items()}
        is_gone = withdrawn or number == _NULL
        exact = None if is_gone else Decimal(number.decode())
        vintages.append(Vintage(members, exact, str(since), str(until), bool(is_latest), row))
    return sorted(vintages, key=lambda each: (each.since, each.members["vintage"]))


_MOST_READS = 256
_YEAR_AROUND = timedelta(366)
_YEAR = re.compile(r"(?:FY ?)?([0-9]{4})")
_QUARTER = re.compile(r"([0-9]{4})-Q([1-4])")
_MONTH = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")
_LABEL = re.compile(r"(?:H[12]|Q[1-4]|9M) FY([0-9]{4})")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LENGTHS = {_YEAR: "annual", _QUARTER: "quarterly", _MONTH: "monthly"}
# A balance is labelled by the longest period that it ends.
_ALSO_ENDS = {"Q1": "Q1", "Q2": "H1", "Q3": "9M", "Q4": "FY"}


def _days(period: str) -> tuple[date, date]:
    """Return between which days a period ends."""
    if year := _YEAR.fullmatch(period) or _LABEL.fullmatch(period):
        return date.fromisoformat(f"{year[1]}-01-01"), date.fromisoformat(f"{year[1]}-12-31")
    if quarter := _QUARTER.fullmatch(period):
        number = int(quarter[2])
        end = date.fromisoformat(f"{quarter[1]}-{3 * number:02d}-{30 if number in (2, 3) else 31}")
        return end.replace(month=3 * number - 2, day=1), end
    if month := _MONTH.fullmatch(period):
        first = date.fromisoformat(f"{month[1]}-{month[2]}-01")
        return first, first.replace(day=monthrange(first.year, first.month)[1])
    return date.fromisoformat(period), date.fromisoformat(period)


def _is_of(members: Mapping[str, Any], period: str) -> bool:
    """Return whether a figure is of a period; of a quarter, not if it is of the months until it."""
    if members["period_end"] == period:
        return True
    length = next((length for form, length in _LENGTHS.items() if form.fullmatch(period)), None)
    if "line_item" in members:
        return _is_reported(members, period)
    return bool(members.get("frequency", "annual") == length)


def _is_reported(members: Mapping[str, Any], period: str) -> bool:
    """Return whether a reported figure is of a period, by its label or by its days."""
    label: str | None = members.get("fiscal_label")
    kind: str = members["period_type"]
    first, last = _days(period)
    ends_in_it: bool = first.isoformat() <= members["period_end"] <= last.isoformat()
    if year := _YEAR.fullmatch(period):
        is_year = label == f"FY{year[1]}" and kind in ("FY", "INSTANT")
        # A balance on a day on which no period is known to end has no label.
        return is_year or (label is None and kind == "INSTANT" and ends_in_it)
    if quarter := _QUARTER.fullmatch(period):
        name = f"Q{quarter[2]}"
        labels = [f"{name} FY{quarter[1]}"]
        if kind == "INSTANT":
            longer = _ALSO_ENDS[name]
            labels.append(f"FY{quarter[1]}" if longer == "FY" else f"{longer} FY{quarter[1]}")
            return label in labels or _quarter_of(members["period_end"]) == period
        is_quarter = kind in _ALSO_ENDS
        of_calendar = is_quarter and _quarter_of(members["period_end"]) == period
        return of_calendar or label in labels
    if _MONTH.fullmatch(period):
        return ends_in_it
    return label == period


def _quarter_of(period_end: str) -> str:
    """Return the calendar quarter in which the middle of a quarter lies, by its last day."""
    day = date.fromisoformat(period_end) - timedelta(45)
    return f"{day.year}-Q{(day.month + 2) // 3}"


def _figures(vintages: Iterable[Vintage]) -> list[list[Vintage]]:
    """Group vintages by the identity of their figures."""
    figures: dict[object, list[Vintage]] = defaultdict(list)
    for each in vintages:
        of = each.members
        # Without the base of an index: a series has one at a time, and the next replaces it.
        names = ("period_start", "period_end", "unit", "basis", "country", "frequency")
        figures[tuple(of.get(name) for name in names)].append(each)
    return list(figures.values())


# The currency of a claim that names none.


def _in_currency(
    build: Build, claim: Mapping[str, Any], vintages: Sequence[Vintage]
) -> tuple[list[Vintage], list[str]]:
    """Return the vintages in the currency of a claim, and the currencies of the others."""
    money = [each for each in vintages if "currency_reported" in each.members]
    if claim["currency"] is not None:
        chosen = [each for each in money if each.members["currency_reported"] == claim["currency"]]
    elif money:
        owner = organisation_id(build, claim["service_id"])
        reported_in = _remembered(build, _reporting_currencies)(owner)
        chosen = [each for each in vintages if each not in money]
        for figure in _figures(money):
            if any(
                reported_in.get(each.since) == each.members["currency_reported"] for each in figure
            ):
                chosen += figure
    else:
        chosen = list(vintages)
    return chosen, sorted(_currencies(money) - _currencies(chosen))


def _currencies(vintages: Iterable[Vintage]) -> set[str]:
    named = (each.members.get("currency_reported") for each in vintages)
    return {str(currency) for currency in named if currency is not None}


def _reporting_currencies(build: Build, owner: str) -> Currencies:
    """Return the currency of most figures that an issuer published on each day.

    If two have as many, it is that of most figures until then. A translation for convenience
    repeats the newest period alone.
    """
    by_day: dict[str, Counter[str]] = defaultdict(Counter)
    of_owner = equal(service_id=owner)
    for body, day in fetch_rows(build, "row, available_at", "fundamentals", of_owner):
        if currency := _MONEY.decode(body).currency_reported:
            by_day[str(day)][currency] += 1
    until_then: Counter[str] = Counter()
    reported_in = {}
    for day, counted in sorted(by_day.items()):
        until_then += counted
        reported_in[day] = max(counted, key=lambda name: (counted[name], until_then[name]))
    return reported_in
