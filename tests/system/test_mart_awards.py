"""Awards as facts: what was known on a day stays what was known on it."""

import json
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.helpers.publishing import publish
from tests.helpers.reads import shared_facts
from tests.helpers.record_rows import load, party_row, release_row
from warehouse.publish.snapshot import Derivation, Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES, arrow_schema
from warehouse.serve.build import Mart
from warehouse.tables import PartyMatch

NAME = "Alpha Fictional Works Ltd"
FIRST, SECOND, THIRD = date(2020, 1, 1), date(2020, 6, 1), date(2021, 1, 1)


def award(amount: str | None = "10.50", named: str | None = NAME, **members: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"id": "a", **members}
    if amount is not None:
        made["value"] = {"amount": amount, "currency": "ZAR"}
    if named is not None:
        made["suppliers"] = [{"name": named}]
    return {name: value for name, value in made.items() if value is not None}


def release(*awards: dict[str, Any], at: date | None = FIRST, **others: Any) -> dict[str, Any]:
    body = json.dumps({"awards": awards}) if awards else "{}"
    body = body.replace('"amount": "', '"amount": ').replace('", "currency"', ', "currency"')
    return release_row(1, release=body, available_at=at, publication=str(at), **others)


def supplier(key: str = "s1", at: date | None = FIRST, **others: Any) -> dict[str, Any]:
    made = {"party_key": key, "role": "supplier", "name": NAME}
    return party_row(**{**made, "available_at": at, "publication": str(at), **others})


def matched(owners: Mapping[str, str]) -> Derivation:
    """Resolve the parties of some keys, whatever their names."""

    def derive(snapshot: Snapshot) -> Mapping[str, pa.Table]:
        parties = snapshot.read(
            "SELECT DISTINCT party_key, name FROM tender_parties WHERE name <> ''"
        )
        rows = [
            {
                **dict.fromkeys(PartyMatch.model_fields),
                **{"source": "test", "country": "ZA", **party},
                **{"service_id": owners[party["party_key"]], "match_method": "exact_name"},
            }
            for party in parties.to_pylist()
        ]
        return {"party_matches": pa.Table.from_pylist(rows, arrow_schema(PartyMatch))}

    return Derivation("matched", derive)


class AwardsWorld:
    """A record of releases and parties, and what its builds tell of awards."""

    def __init__(self, root: Path) -> None:
        self.record, self.mart_folder = Record(f"{root}/record"), root / "mart"

    def publish(self, *rows: dict[str, Any], **owners: str) -> None:
        for row in rows:
            load(self.record, TENDER_PARTIES if "party_key" in row else TENDER_RELEASES, row)
        publish(self.record, self.mart_folder, derivations=[matched({"s1": "DCA1", **owners})])

    def rows(self, as_of: date | None = None, of: str = "DCA1") -> list[dict[str, Any]]:
        page = shared_facts(Mart(self.mart_folder), of, None, "AF-TENDER", as_of)
        return [json.loads(row, parse_float=Decimal, parse_int=Decimal) for row in page.rows]

    def won(self, as_of: date | None = None, of: str = "DCA1") -> list[Decimal]:
        return [row["value"] for row in self.rows(as_of, of)]


@pytest.fixture
def world(tmp_path: Path) -> AwardsWorld:
    return AwardsWorld(tmp_path)


@pytest.mark.parametrize("name", [None, "Beta Fictional Works Ltd"])
def test_a_party_named_otherwise_later_changes_no_earlier_answer(
    name: str | None, world: AwardsWorld
) -> None:
    world.publish(release(award()), supplier())
    before = world.rows(FIRST)
    evidence: dict[str, Any] = {"org_evidence": None} if name is None else {}

    world.publish(release(award(named=name), at=SECOND), supplier(at=SECOND, name=name, **evidence))

    assert world.rows(FIRST) == before and len(before) == 1


def test_an_award_that_a_release_drops_is_a_fact_until_then(world: AwardsWorld) -> None:
    world.publish(release(award()), supplier())
    assert world.won() == [Decimal("10.5")]

    world.publish(release(at=SECOND))

    assert (world.won(FIRST), world.won(SECOND), world.won()) == ([Decimal("10.5")], [], [])


@pytest.mark.parametrize("status", ["cancelled", "unsuccessful", "Cancelled", "pending"])
def test_an_award_that_does_not_stand_is_not_won(status: str, world: AwardsWorld) -> None:
    world.publish(release(award(status="active")), supplier())
    ended = release(award(None, None, status=status), at=SECOND, release_id="r2")

    world.publish(ended)

    assert (world.won(FIRST), world.won(SECOND), world.won()) == ([Decimal("10.5")], [], [])


def test_another_value_is_another_vintage_and_the_same_one_is_none(world: AwardsWorld) -> None:
    world.publish(
        supplier(),
        supplier(at=SECOND, release_id="r2"),
        supplier(at=THIRD, release_id="r3"),
        release(award()),
        release(award("10.5"), at=SECOND, release_id="r2", released_on=date(2026, 1, 9)),
        release(award("11"), at=THIRD, release_id="r3", released_on=date(2026, 1, 10)),
    )

    assert [(row["value"], row["vintage"]) for row in world.rows()] == [(11, 2)]
    assert world.rows(SECOND) == world.rows(FIRST)
    assert [row["available_at"] for row in world.rows(SECOND)] == [str(FIRST)]


def test_an_award_without_id_is_not_the_one_whose_id_is_its_place(world: AwardsWorld) -> None:
    world.publish(release(award("5", id="1"), award("7", id=None)), supplier())

    assert sorted(world.won()) == [5, 7]


def test_of_two_organisations_of_one_name_neither_won(world: AwardsWorld) -> None:
    world.publish(release(award()), supplier(), supplier("s2"), s2="DCB2")

    assert world.won() == world.won(of="DCB2") == []


def test_the_day_of_an_award_is_the_one_in_utc(world: AwardsWorld) -> None:
    late, none = "2020-05-04T23:30:00-05:00", "0001-01-01T00:00:00Z"
    world.publish(release(award(date=late), award(id="b", date=none)), supplier())

    assert sorted(row["period_end"] for row in world.rows()) == ["2020-05-05", "2026-01-02"]


def test_a_release_without_a_day_tells_only_what_is_known_now(world: AwardsWorld) -> None:
    world.publish(release(award(), at=None), supplier(at=None))

    assert (world.won(), world.won(date(2026, 1, 1))) == ([Decimal("10.5")], [])


def valued(
    amount: str | None,
    release_id: str,
    at: date | None = FIRST,
    currency: str = "ZAR",
    **others: Any,
) -> dict[str, Any]:
    value = None if amount is None else Decimal(amount)
    made = {"tender_value": value, "tender_currency": currency, "released_on": at}
    return release(at=at, release_id=release_id, **{**made, **others})


def tenders(world: AwardsWorld, as_of: date | None = None) -> list[tuple[Any, ...]]:
    page = shared_facts(Mart(world.mart_folder), None, "ZAF", "AF-TENDER", as_of)
    rows = [json.loads(row, parse_float=Decimal, parse_int=Decimal) for row in page.rows]
    return [(row["ocid"], row["value"], row["unit"], row["vintage"]) for row in rows]


def test_a_process_has_one_value_on_any_day_the_newest_that_was_known(world: AwardsWorld) -> None:
    ocid = valued("10", "r1")["ocid"]
    world.publish(
        valued("10", "r1"),
        valued("10.00", "r2", SECOND),
        valued(None, "r3", SECOND),
        valued("12.5", "r4", THIRD),
    )

    assert tenders(world, FIRST) == [(ocid, 10, "ZAR", 1)]
    assert tenders(world, SECOND) == [(ocid, 10, "ZAR", 1)]
    assert tenders(world, THIRD) == tenders(world) == [(ocid, Decimal("12.5"), "ZAR", 2)]


def test_a_value_in_another_currency_is_another_vintage_of_the_process(world: AwardsWorld) -> None:
    world.publish(valued("10", "r1"), valued("10", "r2", SECOND, "USD"))

    assert [row[2:] for row in tenders(world, FIRST)] == [("ZAR", 1)]
    assert [row[2:] for row in tenders(world)] == [("USD", 2)]


def test_a_value_that_its_release_drops_falls_back_to_the_release_before(
    world: AwardsWorld,
) -> None:
    world.publish(valued("10", "r1"), valued("12", "r2", SECOND))
    world.publish(valued(None, "r2", THIRD, tag="amended"))

    assert [row[1] for row in tenders(world, SECOND)] == [12]
    assert [row[1:] for row in tenders(world)] == [(10, "ZAR", 3)]


def test_values_of_several_processes_are_served_newest_first_with_their_ocid(
    world: AwardsWorld,
) -> None:
    world.publish(
        valued("1", "r1", FIRST, ocid="ocds-a"),
        valued("2", "r1", THIRD, ocid="ocds-b"),
        valued("3", "r1", SECOND, ocid="ocds-c"),
    )

    assert [row[0] for row in tenders(world)] == ["ocds-b", "ocds-c", "ocds-a"]


def test_an_award_fact_names_its_process(world: AwardsWorld) -> None:
    world.publish(release(award()), supplier())

    assert [row["ocid"] for row in world.rows()] == [release()["ocid"]]
