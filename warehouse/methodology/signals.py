"""The panels of signals-v1 as one table of data: measures, scope and months of each panel.

The pages in ``pages`` are written from this data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

SIGNAL_SET = "signals-v1"
SIGNAL_DIGITS = 10

# Days from the end of a month to its closing, with exceptions by country: long enough for all its
# portals. Do not change them when a portal is added: closed months would be computed again.
CLOSES_AFTER_DEFAULT = 5
CLOSES_AFTER: Mapping[str, int] = {}
# The number of later closings at which a month is computed again.
REEVALUATED = 36

TRAILING = 12
NEW_AFTER = 24
# The momentum compares three months with the same three a year before, 14 months back.
MOMENTUM_NEEDS = 14
SHORT_WINDOW = 15
YEAR_DAYS = (350, 380)

# Amounts are summed exactly, as whole 1/10,000 of a currency unit.
PARTS = 10_000
# Numbers that cannot be: an amount of MONEY_BELOW or more, whatever its currency, or of more than
# AMOUNT_TIMES the 99.9th percentile of its portal and currency, of which FEWEST_AMOUNTS must be
# known; and a count of more than MOST_TENDERERS.
MONEY_BELOW = 10**18
AMOUNT_TIMES = 1_000
FEWEST_AMOUNTS = 1_000
MOST_TENDERERS = 1_000

METHODS = ("open", "selective", "limited", "direct")
# The first is success, the others end a process without an award.
FINAL_STATUSES = ("complete", "cancelled", "unsuccessful", "withdrawn")

MeasureUnit = Literal["share", "index", "ratio", "change", "days", "tenderers"]
MonthRule = Literal["tender", "first award", "award", "year end"]
Dimension = Literal["all", "category", "procurement_method", "buyer", "issuer"]


@dataclass(frozen=True)
class Measure:
    """One number that a panel publishes."""

    key: str
    unit: MeasureUnit
    meaning: str
    per_currency: bool = False


@dataclass(frozen=True)
class Panel:
    """One panel: its measures, the data they need, and which processes are in scope."""

    key: str
    title: str
    month: MonthRule
    dimensions: tuple[Dimension, ...]
    needs: str
    eligible: str
    observed: str
    measures: tuple[Measure, ...]
    notes: tuple[str, ...] = ()


_MEDIAN = "the median; for an even count, the mean of the two middle values"
_RANKED = "the smallest value that at least {} of the processes do not exceed"
_OPENED = "processes whose first tender release is in the month"
_AWARDED = "processes whose first award is in the month"
_TRAILING = f"processes with an award in the {TRAILING} closed months ending with this one"
_SOLE = (
    "An award with several suppliers does not state the share of each: its amount is not "
    "attributed to any of them and the award is not observed.",
    f"Null in the first {TRAILING - 1} months of a country, until the window is full.",
)
_CONCENTRATION = (
    Measure(
        "supplier_hhi",
        "index",
        "sum of the squared shares of all suppliers in the amount awarded, between 0 and 1",
        per_currency=True,
    ),
    Measure("top1_share", "share", "share of the largest supplier", per_currency=True),
    Measure("top3_share", "share", "share of the three largest suppliers", per_currency=True),
)

PANELS = (
    Panel(
        "procurement-demand",
        "What public buyers tender for",
        "tender",
        ("all", "category"),
        "the first tender release, category, buyer, tender.value",
        f"{_OPENED}; for the momentum also those of the other five months in the comparison",
        "category_share_count: state a category; category_share_value: state a category and a "
        "value in the currency; buyer_hhi: state a buyer; momentum_3m_yoy: all of them, or by "
        "category those that state one",
        (
            Measure(
                "category_share_count",
                "share",
                "processes of the category / processes that state a category",
            ),
            Measure(
                "category_share_value",
                "share",
                "tender value of the category / tender value of all that state a category",
                per_currency=True,
            ),
            Measure(
                "buyer_hhi",
                "index",
                "sum of the squared shares of all buyers in the number of processes, "
                "between 0 and 1",
            ),
            Measure(
                "momentum_3m_yoy",
                "change",
                "processes of the three months ending with this one / those of the same three "
                "months a year earlier, minus 1",
            ),
        ),
        (
            "Categories are those of the portal.",
            f"The momentum is null in the first {MOMENTUM_NEEDS} months of a country, and if "
            "there were no processes a year earlier.",
        ),
    ),
    Panel(
        "award-concentration",
        "Concentration of awards among suppliers",
        "award",
        ("all",),
        "awards, their suppliers and values",
        _TRAILING,
        "have an award to one supplier with an amount in the currency",
        _CONCENTRATION,
        _SOLE,
    ),
    Panel(
        "buyer-supplier-concentration",
        "Concentration of each buyer's awards among suppliers",
        "award",
        ("all", "buyer"),
        "awards, their suppliers and values, the buyer",
        f"{_TRAILING}, of the buyer",
        "have an award to one supplier with an amount in the currency; named_buyer_share: state "
        "a buyer",
        (
            *_CONCENTRATION,
            Measure(
                "named_buyer_share",
                "share",
                "processes whose buyer has rows here / processes that state a buyer, for the "
                "whole country; n_withheld counts the buyers without rows",
            ),
        ),
        (*_SOLE, "A buyer is identified by the key of the portal, a slash, and its key there."),
    ),
    Panel(
        "single-bid-rate",
        "Tenders with a single bidder",
        "tender",
        ("all", "category"),
        "tender.numberOfTenderers, or the tenderers themselves",
        _OPENED,
        "state at least one tenderer",
        (
            Measure(
                "single_bid_rate",
                "share",
                "processes with exactly one tenderer / processes that state tenderers",
            ),
        ),
        (
            "A count of 0 means that nobody has bid, or not yet; it counts as not stated. Where no "
            "number is stated, the listed tenderers are counted.",
        ),
    ),
    Panel(
        "bidder-participation",
        "Number of bidders",
        "tender",
        ("all", "category"),
        "tender.numberOfTenderers, or the tenderers themselves",
        _OPENED,
        "state at least one tenderer",
        (
            Measure("mean_tenderers", "tenderers", "mean number of tenderers"),
            Measure("median_tenderers", "tenderers", _MEDIAN),
            Measure("p10_tenderers", "tenderers", _RANKED.format("a tenth")),
            Measure("p90_tenderers", "tenderers", _RANKED.format("nine tenths")),
        ),
    ),
    Panel(
        "submission-window",
        "Length of the submission period",
        "tender",
        ("all", "category"),
        "the start and the end of tender.tenderPeriod",
        _OPENED,
        "state both, with the end not before the start",
        (
            Measure(
                "median_days", "days", f"days from the start to the end of submission: {_MEDIAN}"
            ),
            Measure(
                "share_under_15_days",
                "share",
                f"processes open for less than {SHORT_WINDOW} days / processes with both days",
            ),
        ),
    ),
    Panel(
        "time-to-award",
        "Time from the end of submission to the first award",
        "first award",
        ("all", "category"),
        "the end of tender.tenderPeriod, awards.date",
        _AWARDED,
        "state both days; for the quantiles also an award that is not before the end of submission",
        (
            Measure(
                "median_days", "days", f"days from the end of submission to the award: {_MEDIAN}"
            ),
            Measure("p90_days", "days", _RANKED.format("nine tenths")),
            Measure(
                "share_before_closing",
                "share",
                "processes awarded before submission ended / processes that state both days",
            ),
        ),
    ),
    Panel(
        "cancellation-rate",
        "Tenders that ended without an award",
        "tender",
        ("all", "category"),
        "tender.status",
        _OPENED,
        f"have a final status: {', '.join(FINAL_STATUSES)}",
        (
            Measure(
                "cancellation_rate",
                "share",
                f"{', '.join(FINAL_STATUSES[1:])} / all with a final status",
            ),
        ),
    ),
    Panel(
        "procurement-method-mix",
        "Mix of procurement methods",
        "tender",
        ("procurement_method",),
        "tender.procurementMethod",
        _OPENED,
        "state a method, including ones outside the four of OCDS",
        (
            Measure(
                "method_share", "share", "processes of the method / processes that state a method"
            ),
        ),
    ),
    Panel(
        "award-to-estimate",
        "Award value vs. estimate",
        "first award",
        ("all", "category"),
        "tender.value, and the values of all awards in the same currency",
        _AWARDED,
        "state the estimate and the values of all awards in the same currency",
        (
            Measure("ratio_median", "ratio", f"awards of a process / its estimate: {_MEDIAN}"),
            Measure("ratio_p25", "ratio", _RANKED.format("a quarter")),
            Measure("ratio_p75", "ratio", _RANKED.format("three quarters")),
            Measure("share_above_1", "share", "processes awarded for more than estimated"),
        ),
        ("A ratio has no currency: processes in all currencies share one row.",),
    ),
    Panel(
        "value-revision",
        "Changes of estimates",
        "tender",
        ("all", "category"),
        "tender.value in two releases",
        _OPENED,
        "state a tender value in two releases or more",
        (
            Measure(
                "value_revision_rate",
                "share",
                "processes whose amount or currency differs between releases / processes that "
                "state a value in two or more releases",
            ),
        ),
    ),
    Panel(
        "supplier-newcomer-rate",
        "Awards to new suppliers",
        "award",
        ("all",),
        "awards, their suppliers and dates",
        "processes with an award in the month",
        "name a supplier of that award",
        (
            Measure(
                "newcomer_award_share",
                "share",
                f"awards to suppliers without an award in the {NEW_AFTER} months before / awards "
                "to suppliers; an award to two suppliers counts once for each",
            ),
        ),
        (
            f"Null in the first {NEW_AFTER} months of a country: until then every supplier would "
            "look new.",
        ),
    ),
    Panel(
        "listed-award-intensity",
        "Public awards as a share of issuers' revenue",
        "year end",
        ("issuer",),
        "suppliers resolved to an organisation with a ticker, awards with values, and the revenue "
        "the issuer reported for a full year",
        "processes with an award to the issuer within its fiscal year",
        "have an award to it as the only supplier, with an amount in the currency of the revenue",
        (
            Measure(
                "award_intensity",
                "ratio",
                "amounts awarded to the issuer in the country in its fiscal year / its reported "
                "revenue, in the vintage known on the closing day",
                per_currency=True,
            ),
        ),
        (
            f"A full year has {YEAR_DAYS[0]} to {YEAR_DAYS[1]} days. Consolidated revenue is "
            "preferred. The row starts at the first closing after the revenue was published.",
            "The link from a supplier to an organisation, and whether that is listed, are those of "
            "the data_version; they do not depend on as_of.",
        ),
    ),
)

PANEL_BY_KEY: Mapping[str, Panel] = {panel.key: panel for panel in PANELS}
