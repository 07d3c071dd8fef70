"""Every figure that a build serves as a claim, and what makes such a claim false.

What is true is read from the rows themselves, not from what the service makes of a claim.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import msgspec

from tests.helpers.whole_tables import query
from warehouse.contract import lists
from warehouse.contract.json_values import read
from warehouse.contract.listing import answer
from warehouse.contract.parameters import MOST_CLAIMS, PARAMETERS
from warehouse.serve.build import Mart
from warehouse.shared.tiers import TIERS

Row = dict[str, Any]
Claim = dict[str, Any]
_ROW = msgspec.json.Decoder(Row, float_hook=Decimal)
_NO_CURRENCY = "XTS"


@dataclass(frozen=True)
class Expected:
    """A claim and the verdicts that are right; ``never`` are those that are wrong."""

    claim: Claim
    verdicts: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    why: str = ""


def verdicts(mart: Mart, claims: Sequence[Claim]) -> list[Row]:
    """Return the verdicts on claims, as a client gets them."""
    found: list[Row] = []
    for start in range(0, len(claims), MOST_CLAIMS):
        sent = {"claims": list(claims[start : start + MOST_CLAIMS])}
        parameters = read([PARAMETERS["CLAIMS"]], sent, "claims")
        page = answer(lists.CLAIMS, mart, b"secret", TIERS["professional"], parameters)
        found += [_ROW.decode(bytes(row)) for row in page.rows.rows]
    return found


def wrong(mart: Mart, expected: Sequence[Expected]) -> list[tuple[str, Claim, Row]]:
    """Return the claims on which the verdict is not what it has to be."""
    answers = verdicts(mart, [each.claim for each in expected])
    return [
        (each.why, each.claim, row)
        for each, row in zip(expected, answers, strict=True)
        if row["verdict"] in each.never or (each.verdicts and row["verdict"] not in each.verdicts)
    ]


def served_figures(mart: Mart) -> list[Row]:
    """Return every vintage of every reported figure."""
    rows = [
        _ROW.decode(bytes(row)) for (row,) in query(mart.build(), "SELECT row FROM fundamentals")
    ]
    return [row for row in rows if row["value_reported"] is not None and row["available_at"]]


def of_figures(rows: Sequence[Row], random: Random, most: int) -> Iterator[Expected]:
    """Yield true claims of some figures on their own day, and false ones."""
    lines: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        lines[row["service_id"], row["line_item"]].append(row)
    reported_in = _reporting_currencies(rows)
    for row in rows if len(rows) <= most else random.sample(rows, most):
        line = lines[row["service_id"], row["line_item"]]
        right = ("matches",) if _is_last_of_its_day(row, line) else ("superseded",)
        currency, reports = row["currency_reported"], reported_in[row["service_id"]]
        is_reported = currency is None or any(
            reports[each["available_at"]] == currency
            for each in line
            if _figure(each) == _figure(row)
        )
        for period in _periods(row):
            claim = {
                "service_id": row["service_id"],
                "line_item": row["line_item"],
                "period": period,
                "value": row["value_reported"],
                "as_of": row["available_at"],
            }
            # Another figure that fits may be the same number.
            equal = [each for each in line if each["value_reported"] == row["value_reported"]]
            too = ("matches",) if len({_figure(each) for each in equal}) > 1 else ()
            if currency is not None:
                yield Expected({**claim, "currency": currency}, (*right, *too), why="currency")
                other = {**claim, "currency": _NO_CURRENCY}
                yield Expected(other, ("not_held",), why="wrong currency")
            if is_reported:
                yield Expected(claim, (*right, *too), why="no currency")
            elif not too:
                yield Expected(claim, never=("matches", "matches_rounded"), why="translation")
            yield from _false(claim, row, line)


def observation_claims(mart: Mart, random: Random, most: int) -> Iterator[Expected]:
    """Yield true claims of observations of series on the day that dates them, and false ones."""
    statement = "SELECT row FROM macro_series WHERE latest = 1"
    rows = [_ROW.decode(bytes(row)) for (row,) in query(mart.build(), statement)]
    rows = [row for row in rows if row["value"] is not None and row["available_at"]]
    for row in rows if len(rows) <= most else random.sample(rows, most):
        day, names = row["period_end"], ("series", "country", "value")
        quarter = f"{day[:4]}-Q{(int(day[5:7]) + 2) // 3}"
        of_length = {"annual": day[:4], "quarterly": quarter, "monthly": day[:7], "daily": day}
        claim = {name: row[name] for name in names if row[name] is not None}
        claim |= {"period": of_length[row["frequency"]], "as_of": row["available_at"]}
        yield Expected(claim, ("matches",), why="observation")
        for why, false in _falsified(row["value"]).items():
            if false:
                yield Expected({**claim, "value": str(false)}, never=("matches",), why=why)


def _falsified(value: Decimal | int) -> dict[str, Decimal]:
    """Return a value with another digit, another sign, and on other scales."""
    value, digits = Decimal(value), str(Decimal(value))
    place = next(number for number, sign in enumerate(digits) if sign.isdigit())
    first = str((int(digits[place]) + 1) % 10)
    return {
        "digit": Decimal(digits[:place] + first + digits[place + 1 :]),
        "last digit": Decimal(digits[:-1] + str((int(digits[-1]) + 5) % 10)),
        "sign": -value,
        "scale": value * 1000,
        "smaller scale": value / 1000,
    }


def _false(claim: Claim, row: Row, line: Sequence[Row]) -> Iterator[Expected]:
    true_values = {Decimal(each["value_reported"]) for each in line}
    for why, false in _falsified(row["value_reported"]).items():
        if false not in true_values:
            yield Expected({**claim, "value": str(false)}, never=("matches",), why=why)
    of_value = [each for each in line if each["value_reported"] == row["value_reported"]]
    if claim["period"] == row["period_end"]:
        year = date.fromisoformat(row["period_end"]).year + 1
        later = f"{year}{row['period_end'][4:]}".replace("-02-29", "-02-28")
        if later not in {each["period_end"] for each in of_value}:
            yield Expected({**claim, "period": later}, never=("matches",), why="wrong year")
    day_before = (date.fromisoformat(row["available_at"]) - timedelta(1)).isoformat()
    if not any(each["available_at"] <= day_before for each in of_value):
        yield Expected({**claim, "as_of": day_before}, never=_TRUE, why="a day too early")


_TRUE = ("matches", "superseded")


def _periods(row: Row) -> list[str]:
    """Return the ways in which the period of a figure can be named."""
    label = row["fiscal_label"]
    if label is None:
        return [row["period_end"]]
    part, _, year = label.rpartition(" ")
    names = [row["period_end"], label]
    if not part:
        names.append(year.removeprefix("FY"))
    elif part.startswith("Q"):
        names.append(f"{year.removeprefix('FY')}-{part}")
    return names


def _figure(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("period_start", "period_end", "unit", "basis"))


def _is_last_of_its_day(row: Row, line: Sequence[Row]) -> bool:
    """Return whether no other value of the figure was published after it on the same day."""
    newer = [each for each in line if _figure(each) == _figure(row)]
    newer = [each for each in newer if each["available_at"] == row["available_at"]]
    newest = max(newer, key=lambda each: each["vintage"])
    return bool(newest["value_reported"] == row["value_reported"])


def _reporting_currencies(rows: Sequence[Row]) -> Mapping[str, Mapping[str, str]]:
    """Return the currency of most figures of each filing; of two that have as many, of all."""
    of_issuer: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for row in rows:
        if row["currency_reported"]:
            of_issuer[row["service_id"]][row["available_at"]][row["currency_reported"]] += 1
    chosen: dict[str, dict[str, str]] = defaultdict(dict)
    for issuer, filings in of_issuer.items():
        overall = sum(filings.values(), Counter[str]())
        for filing, counted in filings.items():
            chosen[issuer][filing] = max(counted, key=lambda name: (counted[name], overall[name]))
    return chosen
