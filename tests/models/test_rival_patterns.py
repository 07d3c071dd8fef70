"""Filings that other readers of company facts got wrong: here each figure is right or absent.

Each pattern is named by the issue in which its users reported it. The filings are small, and go the
real way: through the reader of company facts, a record, a snapshot and the derivation of quarters
and twelve months. Of moments of acceptance (edgartools 557) see ``test_tradable``, of signs that
turn (edgartools 334) ``test_filings_checked``; ``test_derived_figures`` has the rules one by one.
"""

import json
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from assets.derive.derived_figures import TABLE, derived_figures
from assets.filings import companyfacts
from assets.filings.issuers import service_id_of
from assets.parsing.parsed import to_table
from tests.helpers.filings import document
from warehouse.publish.snapshot import Snapshot
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES

Row = dict[str, Any]
Values = Mapping[str, Mapping[str, float]]
CASH, ASSETS = "NetCashProvidedByUsedInOperatingActivities", "Assets"
REVENUE, CONTRACTS = "Revenues", "RevenueFromContractWithCustomerExcludingAssessedTax"
PROFIT, DIVIDENDS = "NetIncomeLoss", "PaymentsOfDividends"
EPS, SHARES = "EarningsPerShareDiluted", "WeightedAverageNumberOfDilutedSharesOutstanding"
_UNITS = {EPS: "USD/shares", SHARES: "shares"}
_MONTHS = {"H1": (1, 6), "9M": (1, 9), "Q1": (1, 3), "Q2": (4, 6), "Q3": (7, 9), "Q4": (10, 12)}


def days(period: str) -> tuple[str | None, str]:
    """Return the days of ``2018``, ``2018 9M``, ``2018-02-01 2018-04-30`` or ``on 2018-12-31``."""
    first, _, second = period.partition(" ")
    if first == "on":
        return None, second
    if len(first) > 4:
        return first, second
    begins, ends = _MONTHS.get(second, (1, 12))
    after = date(int(first) + ends // 12, ends % 12 + 1, 1)
    return str(date(int(first), begins, 1)), str(after - timedelta(days=1))


class Fact(NamedTuple):
    """One fact of company facts, under its element and unit."""

    element: str
    unit: str
    members: Row


def filing(
    day: str, fiscal: str, values: Values, form: str = "10-Q", unit: str = "USD"
) -> list[Fact]:
    """Return the facts of a filing, all with ``fy`` and ``fp`` of the filing, as the SEC has it."""
    year, _, part = fiscal.partition(" ")
    shared = {"accn": f"0001193125-{day[2:4]}-{day[5:7]}{day[8:]}00", "filed": day, "fy": int(year)}
    shared |= {"fp": part or "FY", "form": form if part else "10-K"}
    facts = []
    for element, of_period in values.items():
        for period, value in of_period.items():
            start, end = days(period)
            members = {"start": start, "end": end, "val": value, **shared}
            if start is None:
                del members["start"]
            facts.append(Fact(element, _UNITS.get(element, unit), members))
    return facts


class Expected(NamedTuple):
    """What a line of a period is on a day; without a value it is absent."""

    day: str
    line: str
    period: str
    value: str | None
    # Other members of the row.
    members: Row


def expect(day: str, line: str, period: str, value: object, **members: Any) -> Expected:
    """Expect a value on a day, with other members of its row."""
    return Expected(day, line, period, None if value is None else str(value), members)


# A year as most issuers report it: the year to date, with the same months of the year before.
YEAR = [
    *filing("2018-03-01", "2017", {CASH: {"2017": 40}}),
    *filing("2018-05-10", "2018 Q1", {CASH: {"2018 Q1": 10, "2017 Q1": 7}}),
    *filing("2018-08-10", "2018 Q2", {CASH: {"2018 H1": 21, "2017 H1": 15, "2018 Q1": 10}}),
    *filing("2018-11-10", "2018 Q3", {CASH: {"2018 9M": 33, "2017 9M": 24, "2018 H1": 21}}),
    *filing("2019-03-01", "2018", {CASH: {"2018": 46, "2017": 40}}),
]
NEXT_QUARTER = filing("2019-05-10", "2019 Q1", {CASH: {"2019 Q1": 14, "2018 Q1": 10}})
TRAILING = "2018-04-01 2019-03-31"
NOW = "2026-01-01"
BALANCES = {ASSETS: {"on 2018-12-31": 500, "on 2018-09-30": 480}}

PATTERNS: dict[str, tuple[list[Fact], list[Expected]]] = {
    # The fourth quarter is the year less nine months, for flows alone.
    "edgartools-335": (
        [*YEAR, *filing("2019-03-01", "2018", BALANCES)],
        [
            expect("2019-03-01", "cfo", "2018 Q4", 13, fiscal_label="Q4 FY2018"),
            expect("2019-02-28", "cfo", "2018 Q4", None),
            expect(NOW, "total_assets", "on 2018-12-31", 500),
            expect(NOW, "total_assets", "2018 Q4", None),
        ],
    ),
    # Cash flows are reported for the year to date alone.
    "edgartools-785": (
        YEAR,
        [expect(NOW, "cfo", "2018 Q2", 11), expect(NOW, "cfo", "2018 Q3", 12)],
    ),
    # Every part of every year was there, and some quarters were still missing.
    "edgartools-907": (
        [
            *YEAR,
            *NEXT_QUARTER,
            *filing("2019-08-10", "2019 Q2", {CASH: {"2019 H1": 30, "2018 H1": 21}}),
            *filing("2019-11-10", "2019 Q3", {CASH: {"2019 9M": 50, "2018 9M": 33}}),
            *filing("2020-03-01", "2019", {CASH: {"2019": 80, "2018": 46}}),
        ],
        [
            expect(NOW, "cfo", f"{year} {quarter}", value)
            for year, values in (("2018", (10, 11, 12, 13)), ("2019", (14, 16, 20, 30)))
            for quarter, value in zip(("Q1", "Q2", "Q3", "Q4"), values, strict=True)
        ],
    ),
    # Nine months were given for the third quarter, because the filing calls itself Q3.
    "edgartools-1180": (
        [
            *filing("2018-03-01", "2017", {CASH: {"2017": 40}}),
            *filing("2018-05-10", "2018 Q1", {CASH: {"2018 Q1": 10, "2017": 40}}),
            *filing("2018-11-10", "2018 Q3", {CASH: {"2018 9M": 33, "2018 Q1": 10}}),
        ],
        [
            expect(NOW, "cfo", "2018 9M", 33, period_type="9M"),
            expect(NOW, "cfo", "2018 Q3", None),
            expect(NOW, "cfo", "2018 Q2", None),
        ],
    ),
    # A year was given for its last quarter, where another element states the nine months.
    "edgartools-1179": (
        [
            *filing("2018-03-01", "2017", {REVENUE: {"2017": 400}}),
            *filing("2018-11-10", "2018 Q3", {CONTRACTS: {"2018 9M": 330, "2017 9M": 290}}),
            *filing("2019-03-01", "2018", {REVENUE: {"2018": 473, "2017": 400}}),
        ],
        [expect(NOW, "revenue", "2018", 473), expect(NOW, "revenue", "2018 Q4", None)],
    ),
    # The first quarter of the year before was taken from six months of this one.
    "edgartools-1197": (
        [
            *filing("2018-03-01", "2017", {CASH: {"2017": 40}}),
            *filing("2017-05-10", "2017 Q1", {CASH: {"2017 Q1": 7}}),
            *filing("2018-08-10", "2018 Q2", {CASH: {"2018 H1": 21, "2017 H1": 15}}),
        ],
        [
            expect(NOW, "cfo", "2018 Q2", None),
            expect(NOW, "cfo", "2018 H1", 21),
            expect(NOW, "cfo", "2017-04-01 2018-06-30", None),
        ],
    ),
    # Twelve months were not the sum of their quarters.
    "edgartools-793": (
        [*YEAR, *NEXT_QUARTER],
        [
            expect("2019-05-10", "cfo", TRAILING, 11 + 12 + 13 + 14),
            expect("2019-05-09", "cfo", TRAILING, None),
        ],
    ),
    # No twelve months for filers that state all their quarters.
    "defeatbeta-46": (
        [
            *filing("2018-03-01", "2017", {REVENUE: {"2017": 40}}),
            *filing("2018-05-10", "2018 Q1", {REVENUE: {"2018 Q1": 10, "2017 Q1": 7}}),
            *filing("2019-03-01", "2018", {REVENUE: {"2018": 46, "2017": 40, "2018 Q4": 13}}),
            *filing("2019-05-10", "2019 Q1", {REVENUE: {"2019 Q1": 14, "2018 Q1": 10}}),
        ],
        [expect(NOW, "revenue", TRAILING, 50), expect(NOW, "revenue", "2018 Q4", 13)],
    ),
    # Twelve months ended years ago, with the element that an issuer had given up.
    "edgartools-893": (
        [
            *filing("2018-03-01", "2017", {REVENUE: {"2017": 400}}),
            *filing("2018-05-10", "2018 Q1", {REVENUE: {"2018 Q1": 100, "2017 Q1": 90}}),
            *filing("2019-03-01", "2018", {CONTRACTS: {"2018": 460, "2017": 400}}),
            *filing("2019-05-10", "2019 Q1", {CONTRACTS: {"2019 Q1": 140, "2018 Q1": 100}}),
            *filing("2020-03-01", "2019", {CONTRACTS: {"2019": 600, "2018": 460}}),
            *filing("2020-05-10", "2020 Q1", {CONTRACTS: {"2020 Q1": 180, "2019 Q1": 140}}),
        ],
        [
            expect(NOW, "revenue", "2019", 600),
            expect(NOW, "revenue", "2019-04-01 2020-03-31", 640),
        ],
    ),
    # A proxy statement in thousands, filed after the annual report, took the place of the profit.
    "edgartools-796": (
        [
            *filing("2018-03-01", "2017", {PROFIT: {"2017": 113_900_000}}),
            *filing(
                "2018-11-10", "2018 Q3", {PROFIT: {"2018 9M": 133_707_000, "2017": 113_900_000}}
            ),
            *filing("2019-02-25", "2018", {PROFIT: {"2018": 319_066_000, "2017": 113_900_000}}),
            *filing("2019-04-07", "2018 Q4", {PROFIT: {"2018": 319_065}}, form="DEF 14A"),
        ],
        [
            expect("2019-02-25", "profit_attributable", "2018 Q4", 185_359_000),
            expect(NOW, "profit_attributable", "2018", 319_066_000, form="10-K"),
        ],
    ),
    # Distributions of the fourth quarter were below zero: the year is less than its nine months.
    "edgartools-848": (
        [
            *filing("2018-03-01", "2017", {DIVIDENDS: {"2017": 80}}),
            *filing("2018-11-10", "2018 Q3", {DIVIDENDS: {"2018 9M": 87, "2017": 80}}),
            *filing("2019-03-01", "2018", {DIVIDENDS: {"2018": 58, "2017": 80}}),
        ],
        [
            expect(NOW, "dividends_paid", "2018", 58),
            expect(NOW, "dividends_paid", "2018 9M", 87),
            expect(NOW, "dividends_paid", "2018 Q4", None),
        ],
    ),
    # Earnings per share of the last quarter, from averages of shares that cannot be subtracted.
    "edgartools-690": (
        [
            *filing("2018-11-10", "2018 Q3", {EPS: {"2018 9M": 5.33}, SHARES: {"2018 9M": 100}}),
            *filing("2019-03-01", "2018", {EPS: {"2018": 6.97}, SHARES: {"2018": 90}}),
        ],
        [
            expect(NOW, "eps_diluted", "2018", "6.97"),
            expect(NOW, "eps_diluted", "2018 Q4", None),
            expect(NOW, "shares_diluted", "2018 Q4", None),
        ],
    ),
    # The earnings per share of half a year for those of its second quarter.
    "edgartools-694": (
        filing("2018-08-10", "2018 Q2", {EPS: {"2018 H1": 0.9, "2018 Q2": 0.5}}),
        [
            expect(NOW, "eps_diluted", "2018 Q2", "0.5"),
            expect(NOW, "eps_diluted", "2018 H1", "0.9"),
        ],
    ),
    # Earnings per share before and after ten shares were made of one.
    "edgartools-342": (
        [
            *filing("2023-05-26", "2024 Q1", {EPS: {"2023 Q1": 5.0}, SHARES: {"2023 Q1": 2_490}}),
            *filing(
                "2024-05-29",
                "2025 Q1",
                {
                    EPS: {"2024 Q1": 0.76, "2023 Q1": 0.5},
                    SHARES: {"2024 Q1": 24_611, "2023 Q1": 24_900},
                },
            ),
        ],
        [
            expect("2024-05-28", "eps_diluted", "2023 Q1", "5"),
            expect(NOW, "eps_diluted", "2023 Q1", "0.5", restatement_kind="split"),
            expect(NOW, "shares_diluted", "2023 Q1", 24_900, split_ratio="10:1"),
        ],
    ),
    # Years that end in January were called by the year of the filing, or by the one before.
    "edgartools-779": (
        [
            *filing("2025-03-06", "2025", {REVENUE: {"2024-02-01 2025-01-31": 600}}),
            *filing("2025-05-22", "2026 Q1", {REVENUE: {"2025-02-01 2025-04-30": 160}}),
        ],
        [
            expect(NOW, "revenue", "2024-02-01 2025-01-31", 600, period_type="FY"),
            expect(NOW, "revenue", "2025-02-01 2025-04-30", 160, period_type="Q1"),
        ],
    ),
    # Quarters of weeks that end a few days before the month were called by the quarter before.
    "edgartools-816": (
        [
            *filing("2024-02-16", "2023", {REVENUE: {"2023-01-02 2023-12-31": 850}}),
            *filing("2024-10-23", "2024 Q3", {REVENUE: {"2024-07-01 2024-09-29": 220}}),
        ],
        [
            expect(
                NOW,
                "revenue",
                "2024-07-01 2024-09-29",
                220,
                period_type="Q3",
                fiscal_label="Q3 FY2024",
            )
        ],
    ),
    # Four facts of one element with one fiscal year and period, which are of the filing.
    "edgartools-309": (
        filing(
            "2023-11-08",
            "2023 Q3",
            {REVENUE: {"2022 9M": 211, "2022 Q3": 77, "2023 9M": 315, "2023 Q3": 129}},
        ),
        [
            expect(NOW, "revenue", period, value)
            for period, value in (
                ("2022 9M", 211),
                ("2022 Q3", 77),
                ("2023 9M", 315),
                ("2023 Q3", 129),
            )
        ],
    ),
    # Three years of one annual report passed for one period.
    "edgartools-1185": (
        filing("2025-02-01", "2024", {REVENUE: {"2022": 1, "2023": 2, "2024": 3}}),
        [
            expect(NOW, "revenue", str(year), value, fiscal_label=f"FY{year}")
            for year, value in ((2022, 1), (2023, 2), (2024, 3))
        ],
    ),
    # The balance of the year before, which the same filing states under the same fiscal year.
    "edgartools-1269": (
        filing(
            "2023-11-03", "2023", {ASSETS: {"on 2022-09-24": 352_755, "on 2023-09-30": 352_583}}
        ),
        [
            expect(NOW, "total_assets", "on 2023-09-30", 352_583),
            expect(NOW, "total_assets", "on 2022-09-24", 352_755),
        ],
    ),
    # Euros were called dollars.
    "edgartools-440": (
        filing("2025-03-13", "2024", {CASH: {"2024": 29_493}}, unit="EUR"),
        [expect(NOW, "cfo", "2024", 29_493, unit="EUR", currency_reported="EUR")],
    ),
    # A day before the restatement has the figure of then.
    "edgartools-697": (
        [*YEAR, *filing("2020-03-01", "2019", {CASH: {"2019": 80, "2018": 44}})],
        [
            expect("2020-02-29", "cfo", "2018", 46),
            expect("2020-03-01", "cfo", "2018", 44, restatement_kind="restatement"),
            expect("2020-02-29", "cfo", "2018 Q4", 13),
            expect("2020-03-01", "cfo", "2018 Q4", None),
        ],
    ),
}


def body_of(cik: int, facts: list[Fact]) -> bytes:
    elements: dict[str, Any] = {}
    for fact in facts:
        units = elements.setdefault(fact.element, {"label": None, "units": {}})["units"]
        units.setdefault(fact.unit, []).append(fact.members)
    company = {"cik": cik, "entityName": "Fictional", "facts": {"us-gaap": elements}}
    return json.dumps(company).encode()


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """Return what the filers of all patterns state, and what follows from it."""
    folder = tmp_path_factory.mktemp("patterns")
    record = Record(str(folder / "record"))
    bodies = [body_of(cik, facts) for cik, (facts, _) in enumerate(PATTERNS.values(), 1)]
    parsed = [companyfacts.parse(document(body), body) for body in bodies]
    table, _ = to_table(FUNDAMENTALS, parsed)
    append(record, FUNDAMENTALS, table, Load("a-source", ("d",)))
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with Snapshot(folder / "stage", record, loads, "20990101.1") as snapshot:
        snapshot.copy_record([FUNDAMENTALS])
        snapshot.add(derived_figures(snapshot))
        stated = snapshot.read("SELECT *, value_reported AS value FROM fundamentals").to_pylist()
        return [*stated, *snapshot.read(f"FROM {TABLE} WHERE value IS NOT NULL").to_pylist()]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_that_went_wrong_elsewhere_is_right_or_absent(
    pattern: str, figures: list[Row]
) -> None:
    issuer = service_id_of(list(PATTERNS).index(pattern) + 1)
    for expected in PATTERNS[pattern][1]:
        start, end = days(expected.period)
        day = date.fromisoformat(expected.day)
        found = [
            row
            for row in figures
            if (row["service_id"], row["line_item"]) == (issuer, expected.line)
            and (str(row["period_start"] or ""), str(row["period_end"])) == (start or "", end)
            and row["available_at"] <= day < (row["superseded_at"] or date.max)
        ]
        values = [None if row["value"] is None else Decimal(row["value"]) for row in found]
        wanted = [] if expected.value is None else [Decimal(expected.value)]
        assert values == wanted, expected
        for name, value in expected.members.items():
            assert found[0][name] == value, (expected, name)
