"""The panels once more, in plain Python over the staged releases: slow, and shared with nothing.

The state known on a day is put together from the releases of that time, month by month.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

Row = dict[str, Any]
Answer = tuple[Decimal | None, int, int, int]
Key = tuple[str, str, str, str | None]


@dataclass
class ModelAward:
    day: date
    dated: date | None
    amount: Fraction | None
    currency: str | None
    suppliers: frozenset[str]


@dataclass
class ModelProcess:
    opened: date | None = None
    buyer: str | None = None
    category: str | None = None
    status: str | None = None
    method: str | None = None
    start: date | None = None
    end: date | None = None
    bidders: int | None = None
    value: Fraction | None = None
    currency: str | None = None
    values: list[tuple[Fraction, str | None]] = field(default_factory=list)
    awards: dict[str, ModelAward] = field(default_factory=dict)


def current_rows(rows: Iterable[Row], day: date) -> list[Row]:
    return [
        row
        for row in rows
        if row["available_at"] <= day
        and (row["superseded_at"] is None or row["superseded_at"] > day)
        and not row["withdrawn"]
    ]


def processes(releases: list[Row], parties: list[Row], day: date) -> list[ModelProcess]:
    """Merge what was known on a day; a test's sources write days in UTC, or alone."""
    named = defaultdict(list)
    for party in parties:
        if not party["withdrawn"]:
            named[party["source"], party["ocid"], party["release_id"]].append(party)
    merged: dict[tuple[str, str], ModelProcess] = defaultdict(ModelProcess)
    statuses: dict[int, str] = {}
    order = sorted(
        current_rows(releases, day),
        key=lambda row: (
            row["released_on"] or row["available_at"],
            row["available_at"],
            row["publication"],
        ),
    )
    for row in order:
        process = merged[row["source"], row["ocid"]]
        own = named[row["source"], row["ocid"], row["release_id"]]
        _merge(process, row, current_rows(own, row["available_at"]), statuses)
    for process in merged.values():
        process.awards = {
            name: award
            for name, award in process.awards.items()
            if statuses.get(id(award), "active") == "active"
        }
    return list(merged.values())


def _merge(process: ModelProcess, row: Row, own: list[Row], statuses: dict[int, str]) -> None:
    body = json.loads(row["release"], parse_float=Decimal)
    _periods_as_written(body, row)
    stated_on = row["released_on"] or row["available_at"]
    if "tender" in body and process.opened is None:
        process.opened = stated_on
    process.buyer = row["buyer_key"] or process.buyer
    process.category = row["category"] or process.category
    process.status = row["tender_status"] or process.status
    process.method = row["procurement_method"] or process.method
    process.start = row["tender_start"] or process.start
    process.end = row["tender_end"] or process.end
    listed = {item["party_key"] for item in own if item["role"] == "tenderer"}
    process.bidders = row["number_of_tenderers"] or len(listed) or process.bidders
    if row["tender_value"]:
        process.value = Fraction(row["tender_value"])
        process.values.append((process.value, row["tender_currency"]))
    process.currency = row["tender_currency"] or process.currency
    suppliers = {item["party_key"]: item["name"] for item in own if item["role"] == "supplier"}
    awards = body.get("awards", [])
    for stated in awards:
        before = process.awards.get(str(stated["id"]))
        award = before or ModelAward(stated_on, None, None, None, frozenset())
        dated = stated.get("date")
        if dated:
            award.dated = award.day = _day(dated)
        money = stated.get("value", {})
        if "amount" in money:
            award.amount = Fraction(Decimal(money["amount"]))
        award.currency = money.get("currency") or award.currency
        award.suppliers = _suppliers(stated, suppliers, len(awards)) or award.suppliers
        process.awards[str(stated["id"])] = award
        if "status" in stated:
            statuses[id(award)] = stated["status"]


def _day(text: str) -> date:
    """Return the day as it is written: the zone of a local midnight does not move it."""
    return date.fromisoformat(text.strip()[:10])


def _periods_as_written(body: Row, row: Row) -> None:
    """Check the days of a row against the texts of its release, where that has them."""
    period = body.get("tender", {}).get("tenderPeriod", {})
    for column, member in (("tender_start", "startDate"), ("tender_end", "endDate")):
        if member in period:
            assert row[column] == _day(period[member]), (row["source_ref"], column)


def _suppliers(stated: Row, suppliers: dict[str, str | None], awards: int) -> frozenset[str]:
    if awards == 1:
        return frozenset(suppliers)
    names = {item["name"] for item in stated.get("suppliers", [])}
    withheld = [key for key, name in suppliers.items() if name is None]
    if not names:
        return frozenset(withheld if len(withheld) == 1 else ())
    return frozenset(key for key, name in suppliers.items() if name in names)


def ten(value: Fraction) -> Decimal:
    context = Context(prec=10, rounding=ROUND_HALF_EVEN)
    exact = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    # The column keeps eighteen decimal digits.
    return exact if exact.as_tuple().exponent >= -18 else exact.quantize(Decimal(1).scaleb(-18))  # type: ignore[operator]


def shifted(month: date, months: int) -> date:
    number = month.year * 12 + month.month - 1 + months
    return date(number // 12, number % 12 + 1, 1)


def month_of(day: date) -> date:
    return day.replace(day=1)


def share(met: list[bool | None]) -> Answer:
    stated = [item for item in met if item is not None]
    value = ten(Fraction(sum(stated), len(stated))) if stated else None
    return value, len(met), len(stated), 0


def middle(numbers: list[Fraction]) -> Fraction:
    ordered = sorted(numbers)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def ranked(numbers: list[Fraction], tenths: Fraction) -> Fraction:
    ordered = sorted(numbers)
    return next(x for number, x in enumerate(ordered, 1) if number >= tenths * len(ordered))


def hhi(sums: Iterable[Fraction]) -> Fraction:
    totals = list(sums)
    return sum((item * item for item in totals), Fraction()) / sum(totals) ** 2


def spread(numbers: list[int | Fraction | None], kinds: dict[str, Any]) -> dict[str, Answer]:
    stated = [Fraction(number) for number in numbers if number is not None]
    return {
        name: (ten(kind(stated)) if stated else None, len(numbers), len(stated), 0)
        for name, kind in kinds.items()
    }


def published_on(releases: Iterable[Row], month: date, day: date) -> bool:
    """Return whether a release dated after the month was public on a day."""
    return any(
        row["available_at"] <= day
        and row["released_on"] is not None
        and month_of(min(row["released_on"], row["available_at"])) > month
        for row in releases
        if not row["withdrawn"]
    )


def by_tender(all_processes: list[ModelProcess], month: date) -> dict[Key, Answer]:
    """Return the panels of the processes opened in a month, for the whole country."""
    opened = [
        process for process in all_processes if process.opened and month_of(process.opened) == month
    ]
    if not opened:
        return {}
    window = [
        (item.end - item.start).days if item.start and item.end and item.end >= item.start else None
        for item in opened
    ]
    final = ("complete", "cancelled", "unsuccessful", "withdrawn")
    answers: dict[Key, Answer] = {
        ("single-bid-rate", "single_bid_rate", "all", None): share(
            [None if item.bidders is None else item.bidders == 1 for item in opened]
        ),
        ("cancellation-rate", "cancellation_rate", "all", None): share(
            [item.status != "complete" if item.status in final else None for item in opened]
        ),
        ("submission-window", "share_under_15_days", "all", None): share(
            [None if days is None else days < 15 for days in window]
        ),
        ("value-revision", "value_revision_rate", "all", None): share(
            [len(set(item.values)) > 1 if len(item.values) > 1 else None for item in opened]
        ),
    }
    for method in ("open", "selective", "limited", "direct"):
        answers["procurement-method-mix", "method_share", method, None] = share(
            [None if item.method is None else item.method == method for item in opened]
        )
    for name, one in spread(
        [item.bidders for item in opened],
        {
            "mean_tenderers": lambda x: sum(x) / len(x),
            "median_tenderers": middle,
            "p10_tenderers": lambda x: ranked(x, Fraction(1, 10)),
            "p90_tenderers": lambda x: ranked(x, Fraction(9, 10)),
        },
    ).items():
        answers["bidder-participation", name, "all", None] = one
    days = spread(list(window), {"median_days": middle})["median_days"]
    answers["submission-window", "median_days", "all", None] = days
    return answers | _demand(opened)


def _demand(opened: list[ModelProcess]) -> dict[Key, Answer]:
    answers: dict[Key, Answer] = {}
    stating = [item for item in opened if item.category]
    for category, n in Counter(item.category for item in stating).items():
        key: Key = ("procurement-demand", "category_share_count", str(category), None)
        answers[key] = (ten(Fraction(n, len(stating))), len(opened), len(stating), 0)
    for currency in {item.currency for item in stating if item.value and item.currency}:
        valued = [item for item in stating if item.value and item.currency == currency]
        total = sum((item.value or Fraction() for item in valued), Fraction())
        for category in {item.category for item in valued}:
            own = sum((x.value or Fraction() for x in valued if x.category == category), Fraction())
            key = ("procurement-demand", "category_share_value", str(category), currency)
            answers[key] = (ten(own / total), len(opened), len(valued), 0)
    bought = Counter(item.buyer for item in opened if item.buyer)
    hidden = sum(str(buyer).startswith("withheld:") for buyer in bought)
    value = ten(hhi(Fraction(n) for n in bought.values())) if bought else None
    answers["procurement-demand", "buyer_hhi", "all", None] = (
        value,
        len(opened),
        sum(bought.values()),
        hidden,
    )
    return answers


def momentum(all_processes: list[ModelProcess], month: date, first: date) -> Answer | None:
    counts = Counter(month_of(process.opened) for process in all_processes if process.opened)
    now = sum(counts[shifted(month, -back)] for back in range(3))
    before = sum(counts[shifted(month, -back)] for back in range(12, 15))
    if not now + before:
        return None
    if not before or shifted(month, -14) < first:
        return None, now + before, 0, 0
    return ten(Fraction(now, before) - 1), now + before, now + before, 0


def by_first_award(
    all_processes: list[ModelProcess], month: date, first: date
) -> dict[Key, Answer]:
    awarded = []
    for process in all_processes:
        days = [award.day for award in process.awards.values() if award.day >= first]
        if days and month_of(min(days)) == month:
            awarded.append(process)
    if not awarded:
        return {}
    waits = [_wait(process, first) for process in awarded]
    ratios = [_ratio(process, first) for process in awarded]
    answers: dict[Key, Answer] = {
        ("time-to-award", "share_before_closing", "all", None): share(
            [None if wait is None else wait < 0 for wait in waits]
        ),
        ("award-to-estimate", "share_above_1", "all", None): share(
            [None if ratio is None else ratio > 1 for ratio in ratios]
        ),
    }
    spreads = {
        "time-to-award": spread(
            [wait if wait is not None and wait >= 0 else None for wait in waits],
            {"median_days": middle, "p90_days": lambda x: ranked(x, Fraction(9, 10))},
        ),
        "award-to-estimate": spread(
            list(ratios),
            {
                "ratio_median": middle,
                "ratio_p25": lambda x: ranked(x, Fraction(1, 4)),
                "ratio_p75": lambda x: ranked(x, Fraction(3, 4)),
            },
        ),
    }
    for panel, measures in spreads.items():
        answers |= {(panel, name, "all", None): answer for name, answer in measures.items()}
    return answers


def _standing(process: ModelProcess, first: date) -> list[ModelAward]:
    return [award for award in process.awards.values() if award.day >= first]


def _wait(process: ModelProcess, first: date) -> int | None:
    dated = [item.dated for item in _standing(process, first) if item.dated]
    return (min(dated) - process.end).days if dated and process.end else None


def _ratio(process: ModelProcess, first: date) -> Fraction | None:
    awards = _standing(process, first)
    if not process.value or any(
        not award.amount or award.currency != process.currency or award.currency is None
        for award in awards
    ):
        return None
    return sum((award.amount or Fraction() for award in awards), Fraction()) / process.value


def concentrated(
    all_processes: list[ModelProcess], month: date, first: date, buyer: str | None = None
) -> dict[tuple[str, str], Answer]:
    """Return the three measures of every stated currency, by (measure, currency)."""
    window = {shifted(month, -back) for back in range(12)}
    scope = [
        (number, item)
        for number, process in enumerate(all_processes)
        for item in _standing(process, first)
        if month_of(item.day) in window and (buyer is None or process.buyer == buyer)
    ]
    eligible = len({number for number, _ in scope})
    hidden = {key for _, award in scope for key in award.suppliers if key.startswith("withheld:")}
    answers: dict[tuple[str, str], Answer] = {}
    sold = [(n, x) for n, x in scope if len(x.suppliers) == 1 and x.amount and x.currency]
    for currency in {str(award.currency) for _, award in sold}:
        sums: dict[str, Fraction] = defaultdict(Fraction)
        own = [(number, award) for number, award in sold if award.currency == currency]
        for _, award in own:
            sums[min(award.suppliers)] += award.amount or Fraction()
        total, top = sum(sums.values(), Fraction()), sorted(sums.values(), reverse=True)
        counts = (eligible, len({number for number, _ in own}), len(hidden))
        values = {
            "supplier_hhi": hhi(top),
            "top1_share": top[0] / total,
            "top3_share": sum(top[:3], Fraction()) / total,
        }
        full = shifted(month, -11) >= first
        for name, value in values.items():
            answers[name, currency] = (
                (ten(value), *counts) if full else (None, eligible, 0, len(hidden))
            )
    return answers


def newcomers(all_processes: list[ModelProcess], month: date, first: date) -> Answer | None:
    before = {shifted(month, -back) for back in range(1, 25)}
    lines = [
        (number, item)
        for number, process in enumerate(all_processes)
        for item in _standing(process, first)
    ]
    known_before = {
        key for _, award in lines if month_of(award.day) in before for key in award.suppliers
    }
    won = [(number, award) for number, award in lines if month_of(award.day) == month]
    if not won:
        return None
    pairs = [key for _, award in won for key in award.suppliers]
    hidden = len({key for key in pairs if key.startswith("withheld:")})
    eligible = len({number for number, _ in won})
    stating = len({number for number, award in won if award.suppliers})
    if not pairs or shifted(month, -24) < first:
        return None, eligible, 0, hidden
    value = ten(Fraction(sum(key not in known_before for key in pairs), len(pairs)))
    return value, eligible, stating, hidden
