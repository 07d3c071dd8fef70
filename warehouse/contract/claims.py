"""Whether a claimed figure was true, and could be known, on a day."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

import msgspec

from warehouse.contract.issuers import facts_known
from warehouse.contract.problems import conflicting_parameters, invalid_parameter, unknown_id
from warehouse.serve.build import Build, Mart
from warehouse.serve.rows import between, equal, fetch_page, in_country, known_on

Verdict = Literal["matches", "restated_later", "differs", "not_knowable_then", "not_held"]
_YEAR = re.compile(r"(?:FY ?)?([0-9]{4})")
_QUARTER = re.compile(r"([0-9]{4})-Q([1-4])")
_MONTH = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")
_ROWS = msgspec.json.Decoder(dict[str, msgspec.Raw])
PERIOD = "a year such as FY2020, a quarter 2024-Q3, a month 2024-10, or the last day of the period"


@dataclass(frozen=True)
class Vintage:
    """One value that was published for the claimed figure, and from when it was known."""

    value: Decimal
    available_at: date | None
    row: Mapping[str, Any]


def check_claim(mart: Mart, claim: Mapping[str, Any]) -> dict[str, object]:
    """Return a verdict on a figure of an issuer, a series or a country, and what was known.

    A claim that has fewer digits matches a value that rounds to it.
    """
    as_of: date = claim["as_of"] or datetime.now(UTC).date()
    build = mart.build()
    vintages = _vintages(build, claim)
    claimed: Decimal = claim["value"]
    known = vintages
    if claim["as_of"] is not None:
        known = [each for each in vintages if each.available_at and each.available_at <= as_of]
    then, now = _last(known), _last(vintages)
    verdict = _verdict(claimed, then, now, vintages)
    return {
        "verdict": verdict,
        "detail": _DETAILS[verdict].format(as_of=as_of),
        "claimed": claimed,
        "as_of": as_of,
        "known_then": None if then is None else then.row,
        # What became known later says nothing about the claim unless it was restated.
        "known_now": None if now is None or now is then else now.row,
        "_license": build.notice,
        "data_version": build.data_version,
    }


_DETAILS: Mapping[Verdict, str] = {
    "matches": "The figure was public by {as_of} and is the latest that is known.",
    "restated_later": "The figure was public by {as_of}; it has been restated since.",
    "differs": "By {as_of} another figure was public: see known_then.",
    "not_knowable_then": "No figure of this period is known to have been public by {as_of}; what "
    "became public later must not be presented as known then.",
    "not_held": "No figure of this period is held, so the claim can be neither confirmed nor "
    "refuted.",
}


def _verdict(
    claimed: Decimal, then: Vintage | None, now: Vintage | None, vintages: Sequence[Vintage]
) -> Verdict:
    if not vintages:
        return "not_held"
    if then is None:
        return "not_knowable_then"
    if not _rounds_to(then.value, claimed):
        return "not_knowable_then" if _was_later(then, claimed, vintages) else "differs"
    return "matches" if now is then or (now and now.value == then.value) else "restated_later"


def _was_later(then: Vintage, claimed: Decimal, vintages: Sequence[Vintage]) -> bool:
    """Return whether the claimed value became public only after what was known then."""
    matching = [each for each in vintages if _rounds_to(each.value, claimed)]
    return bool(matching) and all(
        each.available_at is None
        or then.available_at is None
        or each.available_at > then.available_at
        for each in matching
    )


def _rounds_to(value: Decimal, claimed: Decimal) -> bool:
    """Return whether a value is the claimed one, or is it at the claim's precision."""
    if value == claimed:
        return True
    digits = claimed.normalize()
    exponent = digits.as_tuple().exponent
    # At least two digits must agree: almost everything rounds to a single one.
    if not isinstance(exponent, int) or len(digits.as_tuple().digits) < 2:
        return False
    step = Decimal(1).scaleb(exponent)
    return abs(value - claimed) * 2 <= step


def _last(vintages: Sequence[Vintage]) -> Vintage | None:
    return vintages[-1] if vintages else None


def _vintages(build: Build, claim: Mapping[str, Any]) -> list[Vintage]:
    first, last = _days(claim["period"])
    if claim["service_id"] is not None:
        return _of_issuer(build, claim, first, last)
    where = [*in_country(claim["country"]), *between("period_end", first, last)]
    if claim["series"] is not None:
        where += equal(series=claim["series"])
        return _sorted(fetch_page(build, "macro_series", where, None).rows, "value")
    if claim["indicator"] is not None:
        where += [*equal(indicator=claim["indicator"]), *known_on(None)]
        return _sorted(fetch_page(build, "macro_annual", where, None).rows, "value")
    detail = "A claim is about service_id and line_item, series, or indicator and country."
    raise conflicting_parameters("service_id", detail)


def _of_issuer(build: Build, claim: Mapping[str, Any], first: date, last: date) -> list[Vintage]:
    if claim["line_item"] is None:
        raise conflicting_parameters("line_item", "A claim about an issuer needs line_item.")
    every = {"vintages": "all", "as_of": None, "period_type": None}
    page = facts_known(build, claim["service_id"], [claim["line_item"]], every)
    if page is None:
        raise unknown_id(claim["service_id"])
    is_year = _YEAR.fullmatch(claim["period"]) is not None
    rows = []
    for row in page.rows:
        members = msgspec.json.decode(row)
        kinds = ("FY", "INSTANT") if is_year else (members["period_type"],)
        is_wanted = first.isoformat() <= members["period_end"] <= last.isoformat()
        currency = claim["currency"]
        if (
            is_wanted
            and members["period_type"] in kinds
            and (currency is None or members["currency_reported"] == currency)
        ):
            rows.append(row)
    return _sorted(rows, "value_reported")


def _days(period: str) -> tuple[date, date]:
    """Return between which days a period ends."""
    if year := _YEAR.fullmatch(period):
        return date(int(year[1]), 1, 1), date(int(year[1]), 12, 31)
    if quarter := _QUARTER.fullmatch(period):
        # A quarter ends in its last month.
        period = f"{quarter[1]}-{3 * int(quarter[2]):02d}"
    if month := _MONTH.fullmatch(period):
        first = date(int(month[1]), int(month[2]), 1)
        return first, date(first.year + first.month // 12, first.month % 12 + 1, 1) - timedelta(1)
    try:
        return date.fromisoformat(period), date.fromisoformat(period)
    except ValueError:
        raise invalid_parameter("period", period, PERIOD) from None


_SHOWN = (
    *("line_item", "series", "indicator", "country", "value_reported", "value"),
    *("currency_reported", "unit", "base_period", "period_end", "fiscal_label", "vintage"),
    *("available_at", "restatement_kind", "source_ref", "license_class"),
)


def _sorted(rows: Sequence[bytes], value: str) -> list[Vintage]:
    """Return vintages in the order in which they became known; undated ones come last."""
    vintages = []
    for row in rows:
        members = _ROWS.decode(row)
        shown = {name: members[name] for name in _SHOWN if name in members}
        shown = {name: raw for name, raw in shown.items() if bytes(raw) != b"null"}
        available = msgspec.json.decode(members["available_at"], type=date | None)
        if bytes(members[value]) != b"null":
            number = Decimal(bytes(members[value]).decode())
            vintages.append(Vintage(number, available, shown))
    return sorted(vintages, key=lambda each: each.available_at or date.max)
