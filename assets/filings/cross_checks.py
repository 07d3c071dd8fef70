"""A filing checked against itself: which of its figures contradict its others, or their own name.

Each check is a sum that the figures of one filing, unit and period keep: assets are liabilities
and equity, profit before tax less tax is profit (``checks.csv``). Elements that are no line items
take part as witnesses: they are read, and not stored.

The balance of an element (debit or credit) says what a positive value means: a cost, a payment, an
asset. Filers who copy the brackets of a printed statement state such figures as negative. Nothing
is turned by us: a figure of the wrong sign is marked, and no metric takes it. Earnings per
share have the sign of the profit that their filing states for the period.

Only the filing itself is read, so nothing published later can decide.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from assets.filings.figures import FIGURE, Reading
from assets.filings.line_items import BY_ELEMENT, Element
from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.shared.data_files import csv_rows

# Elements that are named to come before or after lines that others include: results of associates,
# dividends of preference shares.
_NARROWER = frozenset(
    {
        "IncomeLossFromContinuingOperationsBeforeIncomeTaxesMinorityInterest"
        "AndIncomeLossFromEquityMethodInvestments",
        "NetIncomeLossAvailableToCommonStockholdersBasic",
        "ProfitLossAttributableToOrdinaryEquityHoldersOfParentEntity",
    }
)
# Two sizes that differ by no more are about the same, one of them rounded for a sentence.
ABOUT = Decimal("0.02")
# What may be added up: figures of one filing, standard, unit and period.
Statement = tuple[str, str, str, date | None, date]
Values = Mapping[str, Decimal]
# By so small a share a total may be less than its parts: hedges are in one and not in the others.
_SLIGHT = Decimal("0.005")


@dataclass(frozen=True)
class Witness:
    """A figure that is no line item, and only helps to check those that are."""

    statement: Statement
    element: str
    value: Decimal


@dataclass(frozen=True)
class Check:
    """``total`` is the sum of ``parts`` less ``less``, and of some lines of ``perhaps``.

    A line of ``perhaps`` belongs to the sum in some filings and not in others, and is stated with
    either sign: the check holds if it does with any choice of them. Lines that have no element of
    the taxonomy may be missing, up to such a share of the largest figure (``missing_share``): small
    lines such as margins on sales to associates, or those that filers state under an element of
    their own, of any size. Where a line of ``perhaps`` is stated, that ``explains_all``: nothing
    else may be missing. Or ``more_follows``: where one is stated, others may be missing too. A
    turned sign is a contradiction all the same.
    """

    total: str
    parts: tuple[str, ...]
    less: tuple[str, ...]
    perhaps: tuple[str, ...]
    missing_share: Decimal
    standard: str | None
    explains_all: bool
    more_follows: bool

    @property
    def members(self) -> tuple[str, ...]:
        """The lines without which the check says nothing."""
        return (self.total, *self.parts, *self.less)

    def gap(self, values: Values) -> Decimal:
        """Return how much the total exceeds the sum, lines of ``perhaps`` left out."""
        parts = sum(values[name] for name in self.parts)
        return values[self.total] - parts + sum(values[name] for name in self.less)

    def holds(self, values: Values, tolerance: Decimal) -> bool:
        """Return whether the sum is right, within the tolerance, for a choice of ``perhaps``."""
        gaps = {self.gap(values)}
        for name in self.perhaps:
            value = values.get(name)
            if value:
                gaps |= {gap + sign * value for gap in gaps for sign in (1, -1)}
        return any(abs(gap) <= tolerance for gap in gaps)

    def turned(self, values: Values, tolerance: Decimal) -> set[str]:
        """Return the lines with whose sign turned, one alone, the check would hold.

        Two lines that are the same but for minorities are so if one of them was rounded, too; of
        more lines, chance would find a sum that about holds.
        """
        if len(self.members) == 2:
            tolerance = max(tolerance, ABOUT * abs(values[self.total]))
        return {
            name for name in self.members if self.holds({**values, name: -values[name]}, tolerance)
        }

    def is_explained(self, values: Values, elements: Mapping[str, str]) -> bool:
        """Return whether lines that have no element may explain the difference."""
        # What is owned or owed is never less than its parts.
        if self.total in ONE_SIDED and self.gap(values) < -_SLIGHT * values[self.total]:
            return False
        if any(elements.get(name) in _NARROWER for name in self.members):
            return True
        if any(values.get(name) for name in self.perhaps) and (
            self.more_follows or self.explains_all
        ):
            return self.more_follows
        largest = max(abs(values[name]) for name in self.members)
        return abs(self.gap(values)) <= self.missing_share * largest


def _checks() -> Iterator[Check]:
    # Lines that belong together, by the name of their group.
    groups: dict[str, list[str]] = defaultdict(list)
    for row in csv_rows(__name__, "check_lines"):
        groups[row["group"]].append(row["line"])
    for row in csv_rows(__name__, "checks"):
        yield Check(
            row["total"],
            tuple(row["parts"].split()),
            tuple(row["less"].split()),
            tuple(line for group in row["perhaps"].split() for line in groups[group]),
            Decimal(row["missing_share"] or 0),
            row["standard"] or None,
            row["where_perhaps"] == "explains all",
            row["where_perhaps"] == "more follows",
        )


CHECKS = tuple(_checks())


def _element(name: str) -> Element:
    """Return taxonomy and name of an element; the taxonomy of a line is empty."""
    taxonomy, _, element = name.rpartition(":")
    return taxonomy, element


_NAMES = (_element(name) for check in CHECKS for name in (*check.members, *check.perhaps))
WITNESSES: frozenset[Element] = frozenset(name for name in _NAMES if name[0])


# So many figures of a filing show its scale; with fewer, the zeros of one value may be chance.
_PROOF = 4

_LINE = ("line_item", "basis", "period_start", "period_end")


class FilingScales:
    """Currency and scale of each filing, inferred from all readings of an issuer."""

    def __init__(self, readings: list[Reading]) -> None:
        """Group the readings by filing; currency and scale are computed on demand."""
        self._readings = readings
        self._by_filing: dict[str, list[Reading]] = {}
        for reading in readings:
            self._by_filing.setdefault(reading.row["publication"], []).append(reading)
        self._scales: dict[tuple[str, str], tuple[int, bool]] = {}
        self._money: dict[str, str | None] = {}

    def scale(self, reading: Reading) -> tuple[int, bool]:
        """Return the power of ten a filing is written in, and whether enough figures prove it."""
        filing_unit = reading.row["publication"], reading.row["unit"]
        if filing_unit not in self._scales:
            same_unit = (
                other
                for other in self._by_filing[filing_unit[0]]
                if other.row["unit"] == filing_unit[1]
            )
            scales = Counter(scale_of(other.value) for other in same_unit if other.value)
            main_scale = max(scales, key=lambda scale: (scales[scale], scale), default=0)
            self._scales[filing_unit] = main_scale, scales.total() >= _PROOF
        main_scale, proved = self._scales[filing_unit]
        return (main_scale, True) if proved else (scale_of(reading.value), False)

    def reports_in(self, reading: Reading) -> str | None:
        """Return the currency of a filing's statements: of several, that of most figures."""
        filing = reading.row["publication"]
        if filing not in self._money:
            in_filing = _money(self._by_filing[filing])
            overall = _money(self._until(reading)) if len(in_filing) > 1 else in_filing
            main_currency = max(
                in_filing, key=lambda code: (in_filing[code], overall[code]), default=None
            )
            self._money[filing] = main_currency
        return self._money[filing]

    def _until(self, reading: Reading) -> list[Reading]:
        """Return the readings that were public on the day of a reading."""
        day = reading.row["available_at"] or date.min
        return [each for each in self._readings if (each.row["available_at"] or date.min) <= day]

    def is_translation(self, reading: Reading) -> bool:
        """Return whether the filing states the same line in its reporting currency."""
        currency = self.reports_in(reading)
        if currency is None or reading.row["currency_reported"] in (None, currency):
            return False
        line = [reading.row[name] for name in _LINE]
        return any(
            other.row["currency_reported"] == currency
            and [other.row[name] for name in _LINE] == line
            for other in self._by_filing[reading.row["publication"]]
        )


def _money(readings: list[Reading]) -> Counter[str]:
    return Counter(
        reading.row["currency_reported"] for reading in readings if reading.row["currency_reported"]
    )


def scale_of(value: Decimal) -> int:
    """Return the power of ten in which a value is written: 5 for 1,471,900,000."""
    exponent = value.normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def mark_figures(readings: list[Reading], witnesses: Iterable[Witness]) -> None:
    """Mark what filings contradict themselves in, and the measuring unit of their figures."""
    _mark_contradictions(readings, witnesses)
    _mark_wrong_signs(readings)
    _date_measuring_units(readings)


def _mark_contradictions(readings: list[Reading], witnesses: Iterable[Witness]) -> None:
    """Mark the figures that contradict others of their filing, with the lines they contradict."""
    statements: dict[Statement, dict[str, Reading]] = defaultdict(dict)
    for reading in readings:
        statements[_statement(reading)].setdefault(reading.row["line_item"], reading)
    values: dict[Statement, dict[str, Decimal]] = {
        statement: {name: reading.value for name, reading in lines.items()}
        for statement, lines in statements.items()
    }
    for witness in witnesses:
        if witness.statement in values:
            values[witness.statement].setdefault(witness.element, witness.value)
    scales = FilingScales(readings)
    marks: dict[tuple[Statement, str], set[str]] = {}
    for statement, lines in statements.items():
        rounding = _rounding(lines.values(), scales)
        elements = {name: reading.element for name, reading in lines.items()}
        found = contradictions(values[statement], statement[1], rounding, elements)
        for name, opposed in found.items():
            # What only a witness contradicts is marked with the line of which that is a part.
            known = (each for each in map(_element, opposed) if each in BY_ELEMENT)
            parts = {BY_ELEMENT[each].item.name for each in known}
            marks[statement, name] = opposed & lines.keys() or parts
    for reading in readings:
        others = marks.get((_statement(reading), reading.row["line_item"]))
        if others:
            reading.row["conflicts_with"] = ",".join(sorted(others))


def contradictions(
    values: Values, standard: str, rounding: Decimal, elements: Mapping[str, str]
) -> dict[str, set[str]]:
    """Return the figures that contradict others, each with those others.

    ``elements`` are those that state the lines: a sum of one element with itself says nothing, nor
    one that was added up.

    A figure that keeps another check is not the wrong one; nor is one that a turned sign of another
    explains. But a filer who prints losses without a sign turns all lines of a loss, and sums among
    them hold: together with these lines, a figure that keeps a check may be turned. What one check
    shows to be turned, later checks take with its right sign. Where nothing of that tells, every
    side of a balance is named.
    """
    broken: list[tuple[Check, Decimal]] = []
    kept: list[set[str]] = []
    for check in CHECKS:
        if check.standard not in (None, standard) or not values.keys() >= {*check.members}:
            continue
        stated_by = [elements.get(name, name) for name in check.members]
        if len({*stated_by}) < len(stated_by) or " + ".join(stated_by[1:]) == stated_by[0]:
            continue
        # A filing adjusts rounded figures by up to one unit each so that its sums hold.
        tolerance = rounding * len(check.members)
        if check.holds(values, tolerance):
            kept.append({name for name in check.members if values[name]})
        else:
            broken.append((check, tolerance))
    proved = set().union(*kept)
    found: dict[str, set[str]] = defaultdict(set)
    judged = {**values}
    for check, tolerance in broken:
        members = set(check.members)
        if check.holds(judged, tolerance):
            for name in members:
                if judged[name] != values[name]:
                    found[name] |= members - {name}
            continue
        turned = check.turned(judged, tolerance)
        if not turned and check.is_explained(judged, elements):
            continue
        candidates = turned - proved or turned
        suspects = set[str]()
        for name in sorted(candidates):
            together = _turned_together(name, kept, elements)
            mirrored = {each: -judged[each] for each in together}
            if name not in proved or (
                judged[check.total] / judged[name] < -Decimal("0.5")
                and together.isdisjoint(ONE_SIDED)
                and check.holds({**judged, **mirrored}, tolerance)
            ):
                suspects |= together
        if len(candidates) == 1:
            judged |= {name: -judged[name] for name in suspects}
        # If all keep other sums, a line of the income statement may have no element between them.
        missing = members if len(members) == 2 or members & ONE_SIDED else set[str]()
        for name in suspects or members - proved or missing:
            found[name] |= (members | suspects) - {name}
    return found


def _turned_together(name: str, kept: Iterable[set[str]], elements: Mapping[str, str]) -> set[str]:
    """Return what is turned if a line is: lines that keep sums with it, or have its element."""
    linked = [*kept]
    for element in {*elements.values()}:
        linked.append({line for line, stated_by in elements.items() if stated_by == element})
    together, before = {name}, 0
    while before < len(together):
        before = len(together)
        together.update(*(lines for lines in linked if lines & together))
    return together


def _statement(reading: Reading) -> Statement:
    row = reading.row
    standard = row["accounting_standard"]
    return row["publication"], standard, row["unit"], row["period_start"], row["period_end"]


def _rounding(readings: Iterable[Reading], scales: FilingScales) -> Decimal:
    """Return the unit to which the figures of a statement are rounded."""
    lines = list(readings)
    decimals = [reading.decimals for reading in lines if reading.decimals is not None]
    if decimals:
        return Decimal(1).scaleb(-min(decimals))
    found = [scales.scale(reading) for reading in lines if reading.value]
    return Decimal(1).scaleb(min((scale for scale, _ in found), default=0))


# Lines of which the sign is known.
ONE_SIDED = frozenset(item.name for item in LINE_ITEMS if item.is_one_sided)
# Earnings per share, and the profits of which they are a share, the nearest first.
_PER_SHARE = frozenset({"eps_basic", "eps_diluted"})
_PROFITS = ("profit_attributable", "profit")
# A column of a statement: a period of a filing, on one basis and in one currency.
_COLUMN = (*(name for name in FIGURE if name not in ("line_item", "unit")), "currency_reported")


class Profits:
    """The profits that filings state along with their earnings per share."""

    def __init__(self, readings: Iterable[Reading]) -> None:
        """Keep the profits among the readings of an issuer."""
        self._lines: dict[tuple[Any, ...], Reading] = {}
        for reading in readings:
            if reading.row["line_item"] in _PROFITS and reading.value:
                self._lines[self._key(reading, reading.row["line_item"])] = reading

    @staticmethod
    def _key(reading: Reading, line_item: str) -> tuple[Any, ...]:
        return (line_item, *(reading.row[name] for name in _COLUMN))

    def contradicted_by(self, reading: Reading) -> Reading | None:
        """Return the profit or loss of the same filing and period that has another sign."""
        if reading.row["line_item"] not in _PER_SHARE:
            return None
        found = (self._lines.get(self._key(reading, name)) for name in _PROFITS)
        profit = next((line for line in found if line is not None), None)
        return profit if profit is not None and profit.value * reading.value < 0 else None


def contradicts_its_balance(reading: Reading) -> bool:
    """Return whether a figure is negative that its element states as a positive amount."""
    return reading.value < 0 and reading.row["line_item"] in ONE_SIDED


def _mark_wrong_signs(readings: list[Reading]) -> None:
    """Mark figures whose sign contradicts the balance of their element with their own line.

    Earnings per share stated with a loss are marked with it. With a profit, dividends of
    preference shares may leave a loss to the others, which is not marked.
    """
    profits = Profits(readings)
    for reading in readings:
        mark_own_line(reading)
        loss = profits.contradicted_by(reading)
        if loss is not None and loss.value < 0:
            _mark(reading, loss.row["line_item"])


def mark_own_line(reading: Reading, *, in_another_scale: bool = False) -> None:
    """Mark a figure with its own line if its sign or scale is wrong; else take that mark away."""
    line_item = reading.row["line_item"]
    if in_another_scale or contradicts_its_balance(reading):
        _mark(reading, line_item)
    elif line_item in conflicts_of(reading):
        others = conflicts_of(reading) - {line_item}
        reading.row["conflicts_with"] = ",".join(sorted(others)) or None


def is_money(reading: Reading) -> bool:
    """Return whether a figure is an amount of money, and neither shares nor an amount for each."""
    return bool(reading.row["unit"] == reading.row["currency_reported"])


def _mark(reading: Reading, line_item: str) -> None:
    reading.row["conflicts_with"] = ",".join(sorted({*conflicts_of(reading), line_item}))


def conflicts_of(reading: Reading) -> frozenset[str]:
    """Return the line items that a figure is marked to contradict."""
    marked: str | None = reading.row.get("conflicts_with")
    return frozenset(marked.split(",")) if marked else frozenset()


# In the purchasing power of which day figures under IAS 29 are stated.
#
# A filing in the currency of a hyperinflationary economy states every figure, comparatives too, in
# the measuring unit that is current at the end of its own reporting period. ``hyperinflation.csv``
# says which currencies and when, and what each line rests on. An issuer may present its accounts in
# such a currency while it keeps them in another, and then restates nothing: its filings repeat
# earlier figures unchanged.

# So many figures that repeat those of an earlier filing tell whether comparatives are restated.
_REPEATED = 4
# So many figures make the end of a reporting period; fewer may be of an event after it.
_AT_END = 3


def _hyperinflation() -> dict[str, list[tuple[date, date]]]:
    """Return by currency the ends of the reporting periods to which IAS 29 applies."""
    periods: dict[str, list[tuple[date, date]]] = defaultdict(list)
    for line in csv_rows(__name__, "hyperinflation"):
        first, last = line["first_period_end"], line["last_period_end"] or str(date.max)
        periods[line["currency"]].append((date.fromisoformat(first), date.fromisoformat(last)))
    return dict(periods)


PERIODS = _hyperinflation()


def is_hyperinflationary(currency: str, period_end: date) -> bool:
    """Return whether IAS 29 applies to a currency in a reporting period that ends on a day."""
    return any(first <= period_end <= last for first, last in PERIODS.get(currency, ()))


def _date_measuring_units(readings: list[Reading]) -> None:
    """Set ``measuring_unit_date`` of every figure of a filing under IAS 29."""
    filings: dict[tuple[str, str], list[Reading]] = defaultdict(list)
    for reading in readings:
        currency = reading.row["currency_reported"]
        if currency in PERIODS and reading.row["accounting_standard"] == "ifrs":
            filings[reading.row["publication"], currency].append(reading)
    # What earlier filings stated, figure by figure, and the end of their reporting periods.
    stated: dict[tuple[object, ...], tuple[Decimal, date]] = {}
    for (_, currency), figures in sorted(filings.items(), key=_published):
        end = _reporting_date(figures)
        if is_hyperinflationary(currency, end) and not _repeats(figures, end, stated):
            for reading in figures:
                reading.row["measuring_unit_date"] = end
        stated |= {reading.identity: (reading.value, end) for reading in figures}


def _published(filing: tuple[tuple[str, str], list[Reading]]) -> tuple[date, str]:
    (publication, _), figures = filing
    return figures[0].row["available_at"] or date.min, publication


def _reporting_date(figures: list[Reading]) -> date:
    """Return the end of a filing's reporting period: the newest balance date."""
    balances = [reading for reading in figures if reading.row["period_start"] is None]
    ends: Counter[date] = Counter(reading.row["period_end"] for reading in balances or figures)
    return max([end for end, count in ends.items() if count >= _AT_END] or ends)


def _repeats(
    figures: list[Reading], end: date, stated: dict[tuple[object, ...], tuple[Decimal, date]]
) -> bool:
    """Return whether a filing repeats the figures of earlier reporting periods unchanged."""
    same: Counter[bool] = Counter()
    for reading in figures:
        value, stated_at = stated.get(reading.identity, (None, end))
        # Another filing for the same period is in the same measuring unit: it tells nothing.
        if reading.value and stated_at < end:
            same[reading.value == value] += 1
    return same[True] >= _REPEATED and same[True] > same[False]
