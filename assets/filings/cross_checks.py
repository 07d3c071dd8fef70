"""A filing checked against itself: which of its figures contradict its others.

Each check is a sum that the figures of one filing, unit and period keep: assets are liabilities
and equity, profit before tax less tax is profit. Elements that are no line items take part as
witnesses: they are read, and not stored. Only the filing itself is asked, so nothing published
later can decide.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from assets.filings.figures import Reading
from assets.filings.line_items import Element
from assets.filings.restatements import FilingScales

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
# What may be added up: figures of one filing, standard, unit and period.
Statement = tuple[str, str, str, date | None, date]
Values = Mapping[str, Decimal]


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
    the taxonomy may leave the total ``short`` of the sum or ``over`` it by such shares of the
    largest figure. Where a line of ``perhaps`` is stated, that ``explains_all``: nothing else may
    be missing. Or ``more_follows``: where one is stated, others may be missing too. A turned sign
    is a contradiction all the same.
    """

    total: str
    parts: tuple[str, ...]
    less: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()
    short: Decimal = Decimal(0)
    over: Decimal = Decimal(0)
    standard: str | None = None
    explains_all: bool = False
    more_follows: bool = False

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
        """Return the lines with whose sign turned, one alone, the check would hold."""
        return {
            name for name in self.members if self.holds({**values, name: -values[name]}, tolerance)
        }

    def is_explained(self, values: Values, elements: Mapping[str, str]) -> bool:
        """Return whether lines that have no element may explain the difference."""
        if any(elements.get(name) in _NARROWER for name in self.members):
            return True
        if any(values.get(name) for name in self.perhaps) and (
            self.more_follows or self.explains_all
        ):
            return self.more_follows
        largest = max(abs(values[name]) for name in self.members)
        gap = self.gap(values)
        return -self.short * largest <= gap <= self.over * largest


def _of(taxonomy: str, names: str) -> tuple[str, ...]:
    return tuple(f"{taxonomy}:{name}" for name in names.split())


_TEMPORARY_EQUITY = (
    "temporary_equity",
    *_of(
        "us-gaap",
        "TemporaryEquityCarryingAmount TemporaryEquityCarryingAmountAttributableToParent "
        "TemporaryEquityCarryingAmountAttributableToNoncontrollingInterest "
        "RedeemableNoncontrollingInterestEquityCarryingAmount "
        "RedeemableNoncontrollingInterestEquityCommonCarryingAmount "
        "RedeemableNoncontrollingInterestEquityFairValue",
    ),
)
_OF_MINORITIES = (
    "profit_minority",
    *_of(
        "us-gaap",
        "NetIncomeLossAttributableToNonredeemableNoncontrollingInterest "
        "NetIncomeLossAttributableToRedeemableNoncontrollingInterest",
    ),
)
_AFTER_TAX = (
    *_of(
        "us-gaap",
        "IncomeLossFromDiscontinuedOperationsNetOfTax "
        "IncomeLossFromDiscontinuedOperationsNetOfTaxAttributableToReportingEntity "
        "IncomeLossFromEquityMethodInvestments "
        "ExtraordinaryItemNetOfTax CumulativeEffectOfChangeInAccountingPrincipleNetOfTax",
    ),
    *_of(
        "ifrs-full",
        "ProfitLossFromDiscontinuedOperations "
        "ShareOfProfitLossOfAssociatesAndJointVenturesAccountedForUsingEquityMethod",
    ),
)
_FOR_SALE = _of(
    "ifrs-full",
    "NoncurrentAssetsOrDisposalGroupsClassifiedAsHeldForSale "
    "NoncurrentAssetsOrDisposalGroupsClassifiedAsHeldForSaleOrAsHeldForDistributionToOwners",
)
_SOLD_WITH = _of("ifrs-full", "LiabilitiesIncludedInDisposalGroupsClassifiedAsHeldForSale")
_BEFORE_TAX, _TAX = ("profit_before_tax",), ("income_tax_expense",)
# Small lines between two others, such as margins on sales to associates; and lines that filers
# state under an element of their own, of any size.
_SMALL, _ANY = Decimal("0.05"), Decimal(2)

CHECKS = (
    Check("liabilities_and_equity", ("total_assets",)),
    Check("total_assets", ("total_liabilities", "total_equity"), perhaps=_TEMPORARY_EQUITY),
    Check(
        "total_equity",
        ("equity_attributable",),
        perhaps=("equity_minority",),
        short=_ANY,
        over=_ANY,
        explains_all=True,
    ),
    Check("total_assets", ("current_assets", "ifrs-full:NoncurrentAssets"), perhaps=_FOR_SALE),
    Check(
        "total_liabilities",
        ("current_liabilities", "ifrs-full:NoncurrentLiabilities"),
        perhaps=_SOLD_WITH,
    ),
    Check("total_liabilities", ("current_liabilities", "us-gaap:LiabilitiesNoncurrent")),
    Check("gross_profit", ("revenue",), ("cost_of_sales",), short=_SMALL, over=_SMALL),
    Check(
        "profit",
        ("profit_attributable",),
        perhaps=_OF_MINORITIES,
        short=_ANY,
        over=_ANY,
        explains_all=True,
    ),
    Check(
        "profit",
        _BEFORE_TAX,
        _TAX,
        (*_AFTER_TAX, *_OF_MINORITIES),
        standard="ifrs",
        more_follows=True,
    ),
    # Results of associates come after tax under US-GAAP, often under an element of the issuer's.
    Check(
        "profit",
        _BEFORE_TAX,
        _TAX,
        (*_AFTER_TAX, *_OF_MINORITIES),
        short=_SMALL,
        over=_SMALL,
        standard="us-gaap",
        more_follows=True,
    ),
    Check(
        "profit_attributable",
        _BEFORE_TAX,
        _TAX,
        (*_AFTER_TAX, *_OF_MINORITIES),
        short=_ANY,
        over=_ANY,
    ),
    Check("ifrs-full:ProfitLossFromContinuingOperations", _BEFORE_TAX, _TAX),
)


def _witnesses() -> Iterator[Element]:
    for check in CHECKS:
        for name in (*check.members, *check.perhaps):
            taxonomy, _, element = name.rpartition(":")
            if taxonomy:
                yield taxonomy, element


WITNESSES: frozenset[Element] = frozenset(_witnesses())


def mark_contradictions(readings: list[Reading], witnesses: Iterable[Witness]) -> None:
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
        marks |= {(statement, name): others & lines.keys() for name, others in found.items()}
    for reading in readings:
        others = marks.get((_statement(reading), reading.row["line_item"]))
        if others:
            reading.row["conflicts_with"] = ",".join(sorted(others))


def contradictions(
    values: Values, standard: str, rounding: Decimal, elements: Mapping[str, str]
) -> dict[str, set[str]]:
    """Return the figures that contradict others, each with those others.

    ``elements`` are those that state the lines: a sum of one element with itself says nothing.

    A figure that keeps another check is not the wrong one; nor is one that a turned sign of another
    explains. Where that leaves none, every side is named.
    """
    broken: list[tuple[set[str], set[str]]] = []
    proved: set[str] = set()
    for check in CHECKS:
        if check.standard not in (None, standard) or not values.keys() >= {*check.members}:
            continue
        if len({elements.get(name, name) for name in check.members}) < len(check.members):
            continue
        # A filing adjusts rounded figures by up to one unit each so that its sums hold.
        tolerance = rounding * len(check.members)
        members = set(check.members)
        if check.holds(values, tolerance):
            proved |= {name for name in members if values[name]}
            continue
        turned = check.turned(values, tolerance)
        if turned or not check.is_explained(values, elements):
            broken.append((members, turned))
    found: dict[str, set[str]] = defaultdict(set)
    for members, turned in broken:
        suspects = (turned - proved) or (members - proved) or members
        for name in suspects:
            found[name] |= members - {name}
    return found


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
