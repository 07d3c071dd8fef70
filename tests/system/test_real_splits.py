"""Splits of real filings: those found by hand, from the day of their proof on and never before."""

import gzip
import json
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from falcon import testing

from api.app import create_app
from assets.derive.later_statements import mark_later_statements
from assets.filings import companyfacts
from tests.helpers.paths import REAL
from tests.helpers.publishing import publish
from tests.helpers.reads import facts_known
from tests.helpers.real_files import REAL_FILES, filed_until, load
from tests.system.test_real_metrics import document_of
from warehouse.contract.issuers import splits_known
from warehouse.control.keys import KeyStore, create_key
from warehouse.publish.snapshot import RowCheck
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.serve.build import Mart

Row = dict[str, Any]
DAY = timedelta(days=1)
FOLDERS = (REAL_FILES / "filings" / "companyfacts_2021", REAL / "starter" / "companyfacts_2021")
# Found by hand: where a file states a number of shares anew, by a whole ratio.
SPLITS = {
    "CIK0000771856": {"2015-09-11": "1/12"},
    "CIK0000811522": {"2018-10-16": "1/10", "2020-11-24": "3"},
    "CIK0000903571": {"2019-03-29": "1/5"},
    "CIK0000910631": {"2020-04-17": "8"},
    "CIK0001067491": {"2019-06-19": "2"},
    "CIK0001095052": {"2019-05-28": "1/10"},
    "CIK0001132597": {"2019-04-30": "3/2"},
    "CIK0001158041": {"2021-03-08": "1/10"},
    "CIK0001227282": {"2018-01-16": "1/10"},
    "CIK0001344413": {"2013-03-26": "1/10"},
    "CIK0001470683": {"2021-04-29": "1/3"},
    "CIK0001499780": {"2019-03-28": "1/10", "2021-03-29": "1/100"},
    "CIK0001577552": {"2019-11-13": "8"},
    "CIK0001584547": {"2021-07-06": "1/7"},
    # From 30 May 2019, but the interim reports restate nothing that is a line.
    "CIK0001648257": {"2020-03-03": "10"},
    "CIK0001722606": {"2020-08-21": "1/4"},
    # One filing never restates two numbers, and its losses per share are too small to move.
    "CIK0001077638": {},
    # Averages of one quarter after a reverse acquisition, without the loss per share.
    "CIK0001551206": {},
}
LINES = ["eps_basic", "eps_diluted", "shares_basic", "shares_diluted", "shares_outstanding"]
FEW = ("CIK0000811522", "CIK0000910631", "CIK0001067491", "CIK0001499780", "CIK0001648257")


class World:
    """A build of some files, of them only what was filed until a day."""

    def __init__(self, folder: Path, names: tuple[str, ...], until: date | None = None) -> None:
        record, self.issuers = Record(str(folder / "record")), {}
        for path in sorted(path for each in FOLDERS for path in each.glob("*.json.gz")):
            if path.name.startswith(names):
                body = gzip.decompress(path.read_bytes())
                body = body if until is None else filed_until(body, str(until))
                parsed = companyfacts.parse(document_of(path, body), body)
                load(record, "fundamentals", parsed)
                for row in parsed.rows["fundamentals"][:1]:
                    self.issuers[path.name.partition(".")[0]] = row["service_id"]
        check = RowCheck("later statements", mark_later_statements, (FUNDAMENTALS,))
        publish(record, folder / "marts", checks=(check,))
        self.mart = Mart(folder / "marts")

    def splits(self, name: str, as_of: date | None = None) -> dict[str, str]:
        found = splits_known(self.mart.build(), self.issuers[name], as_of)
        return {str(split.known_on): str(split.factor) for split in found}

    def figures(self, name: str, as_of: date | None) -> list[Row]:
        sent: Row = {"line_items": LINES, "adjust": "splits", "limit": None}
        page = facts_known(self.mart, self.issuers[name], as_of, **sent)
        return [json.loads(row, parse_float=Decimal) for row in page.rows] if page else []


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("few"), FEW)
    yield world
    world.mart.close()


def check_splits(world: World) -> int:
    checked = 0
    for name in world.issuers:
        expected = SPLITS[name]
        assert world.splits(name) == expected, name
        for day in map(date.fromisoformat, expected):
            before = {each: factor for each, factor in expected.items() if each < str(day)}
            assert world.splits(name, day - DAY) == before, name
            assert world.splits(name, day) == {**before, str(day): expected[str(day)]}
            checked += 1
        for row in world.figures(name, None):
            later = [Fraction(each) for day, each in expected.items() if row["available_at"] < day]
            if row["adjusted_value"] is not None:
                factor = Fraction(row["split_factor"].replace(":", "/"))
                assert factor == product_of(later)
                times = factor if row["unit"] == "shares" else 1 / factor
                exact = Fraction(row["value_reported"]) * times
                digits = abs(Fraction(row["adjusted_value"]) - exact)
                assert digits <= abs(exact) / 10**9, row
    return checked


def product_of(factors: list[Fraction]) -> Fraction:
    product = Fraction(1)
    for factor in factors:
        product *= factor
    return product


def test_splits_found_by_hand_are_found_by_the_rule_from_their_day_on(world: World) -> None:
    assert check_splits(world) == 7


def test_a_figure_is_in_the_shares_of_the_day_and_of_no_later_one(world: World) -> None:
    def per_share(as_of: str) -> tuple[Any, ...]:
        rows = world.figures("CIK0001499780", date.fromisoformat(as_of))
        named = {"line_item": "eps_basic", "period_end": "2016-12-31"}
        (row,) = [row for row in rows if named.items() <= row.items()]
        return row["value_reported"], row["split_factor"], row["adjusted_value"]

    assert per_share("2019-03-27") == (Decimal("-3.77"), "1:1", Decimal("-3.77"))
    assert per_share("2019-03-28") == (Decimal("-37.73"), "1:1", Decimal("-37.73"))
    assert per_share("2021-03-28") == (Decimal("-37.73"), "1:1", Decimal("-37.73"))
    assert per_share("2021-03-29") == (Decimal("-37.73"), "1:100", -3773)


def test_rest_gives_figures_in_the_shares_of_the_day(world: World, tmp_path: Path) -> None:
    keys = KeyStore(tmp_path / "control.sqlite")
    client, key = testing.TestClient(create_app(world.mart, keys)), create_key(keys, "professional")

    def answer(name: str, **parameters: str) -> testing.Result:
        path, headers = f"/v1/fundamentals/{world.issuers[name]}", {"X-API-Key": key}
        return client.simulate_get(path, params=parameters, headers=headers)

    for name, splits in SPLITS.items():
        if name in world.issuers:
            for known_on in map(date.fromisoformat, splits):
                for day in (known_on - DAY, known_on):
                    sent = {"line_items": ",".join(LINES), "as_of": str(day), "limit": "1000"}
                    served = answer(name, adjust="splits", **sent)
                    rows = json.loads(served.text, parse_float=Decimal)["data"]
                    assert rows == world.figures(name, day) != []
                    assert {"adjusted_value", "split_factor"} <= rows[0].keys()
                    assert "adjusted_value" not in answer(name, **sent).json["data"][0]
    refused = answer("CIK0001499780", adjust="dividends")
    assert (refused.status_code, refused.json["allowed"]) == (400, ["splits"])


def test_a_figure_that_may_be_in_old_or_in_new_shares_is_not_adjusted(world: World) -> None:
    rows = [row for row in world.figures("CIK0001648257", None) if row["vintage"] == 1]
    between = [row for row in rows if "2019-03-11" < row["available_at"] < "2020-03-03"]
    assert between and {row["adjusted_value"] for row in between} == {None}


@pytest.mark.nightly
@pytest.mark.shared
def test_every_split_of_all_files_is_found_on_its_day_and_every_day_has_what_was_filed_by_then(
    tmp_path: Path,
) -> None:
    whole = World(tmp_path / "whole", tuple(SPLITS))
    assert check_splits(whole) == 18 and len(whole.issuers) == len(SPLITS)
    days = sorted({date.fromisoformat(day) for splits in SPLITS.values() for day in splits})
    for number, day in enumerate(days):
        then = World(tmp_path / str(number), tuple(SPLITS), day - DAY)
        for name in then.issuers:
            shown = [
                {key: row[key] for key in ("fact_id", "split_factor", "adjusted_value")}
                for row in whole.figures(name, day - DAY)
            ]
            by_then = [
                {key: row[key] for key in ("fact_id", "split_factor", "adjusted_value")}
                for row in then.figures(name, None)
            ]
            assert shown == by_then, (name, day)
        then.mart.close()
    whole.mart.close()
