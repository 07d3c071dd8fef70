"""What a later statement of a figure is: a restatement, or one that only looks like it.

A later statement may differ from the current one in its size, its sign, its scale and its
element. One that is only rounded, in a scale or with a sign that is a filer's error, by an element
that states less, or a convenience translation at another day's rate, is an apparent restatement:
it is stored with a mark, makes no vintage, and the earlier value stays. ``mark_apparent`` is the
one judgement: of parsers that see several filings of an issuer, and of the snapshot, which
sees all of them. It reads nothing but rows as they are stored, and of these only what was public by
then. So neither a later filing nor the order of reading can change it.

Within one report, a rounding of a more precise value is rejected: xBRL-JSON states its
decimals; in company facts only trailing zeros show it.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from assets.filings.cross_checks import (
    ABOUT,
    FilingScales,
    Profits,
    Witness,
    conflicts_of,
    contradicts_its_balance,
    is_money,
    mark_figures,
    mark_own_line,
    scale_of,
)
from assets.filings.figures import (
    Reading,
    declared_sums,
    grouped,
    is_misused,
    settle,
    showing,
    without_narrower,
    without_refuted,
)
from assets.filings.line_items import BY_ELEMENT, LINE_SUMS, TaxonomyElement, is_worse
from assets.macro.iso_codes import is_currency
from assets.parsing.parsed import Parsed
from warehouse.record.landing import Document
from warehouse.record.tables import FUNDAMENTALS
from warehouse.tables.fundamentals import ApparentRestatement

# Lines that are the sum of others, if no element states them.
_SUMMED = frozenset(each.item.name for each in LINE_SUMS)

# Tables are printed in thousands, millions or billions.
_SLIPS = (3, 6, 9)
# How far apart two values with the same digits may be, for rounding.
_SAME_DIGITS = Decimal("0.0005")
# Filings of one size differ by less than so many powers of ten.
_SAME_SIZE = 1.5
# Where too few figures of a filing show its scale, two scales must lie so many powers of ten apart.
_WITHOUT_PROOF = 2
# The sums of a balance sheet: a filing that keeps one of them has its sides in one scale.
_BALANCED = (
    frozenset({"total_assets", "total_liabilities", "total_equity"}),
    frozenset({"total_assets", "liabilities_and_equity"}),
)
# A filing, by day and publication: in order of publication.
_Filing = tuple[date, str]


def _filing(reading: Reading) -> _Filing:
    return reading.row["available_at"] or date.min, reading.row["publication"]


def slip(before: Decimal, after: Decimal) -> int | None:
    """Return the usual power of ten between two values with the same digits; None if none is."""
    small, large = sorted((abs(before), abs(after)))
    if not small:
        return None
    ratio = large / small
    return next((power for power in _SLIPS if abs(ratio.scaleb(-power) - 1) <= _SAME_DIGITS), None)


class FilingSizes:
    """The size of each filing of an issuer: the power of ten of its largest figure in a unit.

    A filer who forgets that its tables are in millions states every figure of a filing so, with the
    digits of its other filings. The size that most filings of the issuer have, of those that were
    public by then, is the right one.
    """

    def __init__(self, readings: list[Reading]) -> None:
        """Measure the filings of an issuer, in order of publication."""
        largest: dict[str, dict[_Filing, Decimal]] = defaultdict(dict)
        for reading in readings:
            sizes, filing = largest[reading.row["unit"]], _filing(reading)
            sizes[filing] = max(sizes.get(filing, Decimal(0)), abs(reading.value))
        self._filings = {unit: sorted(sizes) for unit, sizes in largest.items()}
        self._sizes = {
            unit: {filing: float(value.log10()) for filing, value in sizes.items() if value}
            for unit, sizes in largest.items()
        }

    def differ(self, standing: Reading, reading: Reading) -> bool:
        """Return whether two filings as a whole are in other scales, not this figure alone."""
        sizes = self._sizes[reading.row["unit"]]
        return abs(sizes[_filing(standing)] - sizes[_filing(reading)]) >= _SAME_SIZE

    def more_alike(self, standing: Reading, reading: Reading) -> int:
        """Return how many more filings have the size of the later filing than of the earlier."""
        sizes = self._sizes[reading.row["unit"]]
        filings = self._filings[reading.row["unit"]]
        until_then = filings[: bisect_right(filings, _filing(reading))]
        public = [sizes[filing] for filing in until_then if filing in sizes]
        before, after = (
            sum(abs(size - sizes[_filing(one)]) < _SAME_SIZE for size in public)
            for one in (standing, reading)
        )
        return after - before


class LaterStatements:
    """What the later statements of an issuer's figures are, judged by what was public by then."""

    def __init__(self, readings: list[Reading]) -> None:
        """Learn scales, sizes, profits and balance sheets of the filings of an issuer."""
        self._filings, self._sizes = FilingScales(readings), FilingSizes(readings)
        self._profits = Profits(readings)
        self._sides: dict[tuple[Any, ...], set[str]] = defaultdict(set)
        # The first filing in which each element stated a value for a period, on whatever line.
        self._since: dict[tuple[Any, ...], _Filing] = {}
        for reading in readings:
            statement, filing = self._statement(reading, reading.value), _filing(reading)
            self._since[statement] = min(filing, self._since.get(statement, filing))
            # A side that contradicts the others proves nothing.
            if not conflicts_of(reading):
                self._sides[self._balance(reading)].add(reading.row["line_item"])

    @staticmethod
    def _statement(reading: Reading, value: Decimal) -> tuple[Any, ...]:
        identity = (reading.row[name] for name in FUNDAMENTALS.identity if name != "line_item")
        return (*identity, reading.row["element"], value)

    @staticmethod
    def _balance(reading: Reading) -> tuple[Any, ...]:
        return tuple(reading.row[name] for name in ("publication", "basis", "unit", "period_end"))

    def kind(
        self, standing: Reading, reading: Reading, until_then: list[Reading]
    ) -> ApparentRestatement | None:
        """Return what a statement only looks like a restatement by; None if it is one.

        ``until_then`` are the statements of the figure until this one, which is the last of them.
        """
        if reading.value == standing.value:
            return None
        if self._filings.is_translation(reading):
            return "translation"
        is_turned = reading.value * standing.value < 0
        if not is_turned and self._is_rounding(standing, reading):
            return "rounding"
        if self._is_out_of_scale(standing, reading, until_then):
            return "scale"
        if self._is_worse(standing, reading):
            return "element"
        if is_turned and self._is_turned_away(standing, reading, until_then):
            return "sign"
        return None

    def is_in_another_scale(self, standing: Reading, reading: Reading) -> bool:
        """Return whether a filing as a whole, by this figure, has another scale than before."""
        is_slip = slip(standing.value, reading.value) is not None
        return is_money(reading) and is_slip and self._sizes.differ(standing, reading)

    def _is_rounding(self, standing: Reading, reading: Reading) -> bool:
        """Return whether two sizes differ by less than the coarser of two scales can show."""
        (before, proved), (after, proved_again) = map(self._filings.scale, (standing, reading))
        is_proved = proved and proved_again
        if abs(after - before) < (1 if is_proved else _WITHOUT_PROOF):
            return False
        unit = Decimal(1).scaleb(max(before, after))
        gap = abs(abs(reading.value) - abs(standing.value))
        if abs(reading.value) >= 100 * unit:
            # A filing adjusts a rounded value by up to one unit so that its sums hold.
            return gap < unit
        # With so few digits left, a real change could pass for a rounding: only one that the later
        # filing rounds to its own scale does not.
        is_coarser = after > before and scale_of(reading.value) >= after
        return is_coarser and 2 * gap <= unit and (is_proved or _has_digits(reading.value))

    def _is_out_of_scale(
        self, standing: Reading, reading: Reading, until_then: list[Reading]
    ) -> bool:
        # Only money is printed in thousands: a split of shares changes their number, and amounts
        # per share, by the same powers of ten.
        power = slip(standing.value, reading.value)
        if power is None or not is_money(reading):
            return False
        if not self._sizes.differ(standing, reading):
            # Only this figure is in another scale: the sums of its filing, or most filings that
            # state it, must say that it is the right one.
            is_right = self._is_balanced(reading) or self._is_mended(standing, reading, until_then)
            return not is_right
        more_alike = self._sizes.more_alike(standing, reading)
        if more_alike:
            sides = frozenset().union(*_BALANCED)
            return more_alike < 0 or not conflicts_of(reading).isdisjoint(sides)
        # Of as many filings on both sides, the one with digits that the other lacks is right.
        large = max(standing, reading, key=lambda one: abs(one.value))
        return self._filings.scale(large)[0] >= power or large is standing

    def _is_balanced(self, reading: Reading) -> bool:
        """Return whether a figure is a side of a balance sheet that its filing states in full."""
        stated = self._sides[self._balance(reading)]
        line_item = reading.row["line_item"]
        return any(line_item in sides and stated >= sides for sides in _BALANCED)

    def _is_mended(self, standing: Reading, reading: Reading, until_then: list[Reading]) -> bool:
        """Return whether the earlier figure does not fit its filing, or most state the later."""
        for is_odd in (conflicts_of, self._is_finer):
            if bool(is_odd(reading)) != bool(is_odd(standing)):
                return bool(is_odd(standing))
        stated = {(other.row["publication"], other.value) for other in until_then}
        filings = Counter(value for _, value in stated)
        return filings[reading.value] > filings[standing.value]

    def _is_finer(self, reading: Reading) -> bool:
        """Return whether a value has digits that are too fine for the scale of its filing."""
        scale, proved = self._filings.scale(reading)
        return proved and scale_of(reading.value) < scale

    def _is_worse(self, standing: Reading, reading: Reading) -> bool:
        """Return whether an element states less of the line than the current one.

        Such as equity with minorities, or a part of the investments. It is a restatement if both
        had stated the same. A zero shows nothing, nor does an amount too small for its element.
        """
        if not standing.value or is_misused(standing, reading):
            return False
        elements = standing.row["element"], reading.row["element"]
        since = self._since.get(self._statement(reading, standing.value))
        had_stated = since is not None and since <= _filing(reading)
        return is_worse(reading.row["line_item"], *elements) and not had_stated

    def _is_turned_away(
        self, standing: Reading, reading: Reading, until_then: list[Reading]
    ) -> bool:
        """Return whether a value of the other sign is no correction of the current one.

        The balance of the element decides, and for earnings per share the profit of their filing;
        where they allow both signs, the filing that contradicts itself is wrong, then the one that
        rounds: a sentence and no statement. Where nothing of that tells, the sign of most filings
        is right, and of as many on both sides that of an expense.
        """
        if not self._is_same_size(standing, reading):
            # Profit may turn into loss by a restatement; a payment never becomes a receipt.
            return contradicts_its_balance(reading)
        for is_wrong in (contradicts_its_balance, self._profits.contradicted_by, conflicts_of):
            if bool(is_wrong(reading)) != bool(is_wrong(standing)):
                return bool(is_wrong(reading))
        if self._is_rounding(standing, reading):
            return self._filings.scale(reading)[0] > self._filings.scale(standing)[0]
        stated = _count_signs(other for other in until_then if self._is_same_size(other, reading))
        given, before = stated[_sign(reading)], stated[_sign(standing)]
        return given < before or (given == before and not _is_usual(reading))

    def _is_same_size(self, one: Reading, other: Reading) -> bool:
        """Return whether two values are about the same, whatever their signs."""
        sizes = abs(one.value), abs(other.value)
        return max(sizes) - min(sizes) <= ABOUT * max(sizes) or self._is_rounding(one, other)


def _has_digits(value: Decimal) -> bool:
    """Return whether a value is more than one digit and zeros, which may be exact."""
    return len(value.normalize().as_tuple().digits) > 1


def _is_usual(reading: Reading) -> bool:
    """Return whether a figure is an expense, as its element is named, and not the benefit.

    Of an element that is no line here nothing tells: the later sign counts.
    """
    if not reading.row["statement"]:
        return True
    taxonomy, _, name = reading.row["element"].partition(":")
    element = BY_ELEMENT.get((taxonomy, name))
    is_expense = element is not None and element.balance == "debit"
    return is_expense and reading.row["statement"] == "income" and reading.value > 0


def _count_signs(readings: Iterable[Reading]) -> Counter[int]:
    """Count the filings that state a figure with each sign."""
    filings = {(reading.row["publication"], _sign(reading)) for reading in readings}
    return Counter(sign for _, sign in filings)


def _sign(reading: Reading) -> int:
    return (reading.value > 0) - (reading.value < 0)


def element_reading(row: dict[str, Any], location: str) -> Reading:
    """Return the figure of an element as one to judge: the element is its line."""
    taxonomy, _, name = row["element"].partition(":")
    money = row["unit"].partition("/")[0]
    as_line = {
        "line_item": row["element"],
        "statement": "",
        "basis": taxonomy,
        "currency_reported": money if is_currency(money) else None,
        "conflicts_with": None,
    }
    return Reading(name, 0, location, row | as_line)


def mark_apparent(readings: list[Reading]) -> None:
    """Mark apparent restatements among the figures of an issuer, whatever was marked before.

    If the figures that a filing repeats are in another scale than most filings, so are its others:
    all of them are marked to contradict their own line.
    """
    for reading in readings:
        mark_own_line(reading)
    later = LaterStatements(readings)
    # How many figures of a filing, in a unit, are in another scale, less those that are not.
    rescaled: Counter[tuple[str, str]] = Counter()
    for group in grouped(readings, FUNDAMENTALS.identity):
        group.sort(key=_filing)
        standing = group[0]
        for number, reading in enumerate(group, start=1):
            kind = later.kind(standing, reading, group[:number])
            reading.row["apparent_restatement"] = kind
            if kind == "scale" and later.is_in_another_scale(standing, reading):
                rescaled[_column(reading)] += 1
            elif standing.row["publication"] != reading.row["publication"]:
                rescaled[_column(reading)] -= standing.value == reading.value
            if kind is None:
                # What only looks like a restatement never replaces what it is compared with.
                standing = reading
    for reading in readings:
        if is_money(reading) and rescaled[_column(reading)] > 0:
            mark_own_line(reading, in_another_scale=True)


def _column(reading: Reading) -> tuple[str, str]:
    return reading.row["publication"], reading.row["unit"]


def settled_figures(
    parsed: Parsed,
    document: Document,
    readings: Iterable[Reading],
    stated: Iterable[tuple[str, TaxonomyElement, Decimal]],
    witnesses: Iterable[Witness],
    *,
    as_written: bool = False,
) -> list[Reading]:
    """Return each figure of each filing once, checked against its filing; reject the others.

    ``stated`` is what filings state by whatever element, and ``as_written`` as in
    ``without_roundings``.
    """
    all_readings, shown = list(readings), showing(stated)
    # In this order: parts first, which are no roundings of a total; then roundings, or the elements
    # of a filing would seem to disagree.
    unrefuted = without_refuted((each for each in all_readings if each.rank), shown)
    precise = without_roundings(parsed, document, unrefuted, as_written=as_written)
    sums = without_refuted(declared_sums(all_readings, "element"), shown)
    return marked_figures(parsed, document, without_narrower([*precise, *sums]), witnesses)


def marked_figures(
    parsed: Parsed, document: Document, readings: list[Reading], witnesses: Iterable[Witness]
) -> list[Reading]:
    """Return each figure as the element of the best rank states it, checked against its filing.

    Lines that are declared to be the sum of others come last, when those are settled.
    """
    settled = list(settle(parsed, document, (each for each in readings if not _is_sum(each))))
    totals = [*filter(_is_sum, readings), *declared_sums(settled, "line_item")]
    settled += settle(parsed, document, without_narrower(totals))
    mark_figures(settled, witnesses)
    filings = FilingScales(settled)
    return [
        each
        for each in settled
        # What contradicts its filing is not added up.
        if not any(map(conflicts_of, each.parts))
        # Debt in another currency than the filing's own is that of one loan, not of all.
        and not (_is_sum(each) and filings.reports_in(each) != each.row["unit"])
    ]


def _is_sum(reading: Reading) -> bool:
    return reading.row["line_item"] in _SUMMED


def without_roundings(
    parsed: Parsed, document: Document, readings: Iterable[Reading], *, as_written: bool = False
) -> Iterator[Reading]:
    """Yield the readings that are not a rounding of another in their filing; reject the roundings.

    ``as_written``: only trailing zeros show how far a value was rounded, and no decimals.
    """

    def decimals_of(reading: Reading) -> int | None:
        return -scale_of(reading.value) if as_written else reading.decimals

    def precision(reading: Reading) -> tuple[bool, int]:
        decimals = decimals_of(reading)
        return decimals is None, decimals or 0

    def is_rounded(reading: Reading, precise: Reading) -> bool:
        decimals = decimals_of(reading)
        if decimals is None:
            return False
        # Zeros alone show nothing: the precise value must have more digits.
        if as_written and (decimals == decimals_of(precise) or not _has_digits(reading.value)):
            return False
        return abs(reading.value - precise.value) <= Decimal(5).scaleb(-decimals - 1)

    for group in grouped(readings, (*FUNDAMENTALS.identity, "publication")):
        best = group[0] if len(group) == 1 else max(group, key=precision)
        for reading in group:
            if reading.value != best.value and is_rounded(reading, best):
                reason = f"a rounding of {best.value}, which the same report states"
                parsed.reject(FUNDAMENTALS, document, reading.location, reason)
            else:
                yield reading
