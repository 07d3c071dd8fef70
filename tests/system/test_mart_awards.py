"""Awards as facts: what was known on a day stays what was known on it."""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from tests.helpers.publishing import publish
from tests.helpers.reads import shared_facts
from tests.helpers.record_rows import load, party_row, release_row
from warehouse.publish.snapshot import Derivation, Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES, arrow_schema
from warehouse.serve.build import Mart
from warehouse.tables.derived import PartyMatch

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


class Story:
    """The rows of one process, as read before the first publication and later.

    Its suppliers are organisations of their own, so that all stories are published together.
    """

    every: ClassVar["list[Story]"] = []

    def __init__(self, *first: dict[str, Any], later: Sequence[dict[str, Any]] = ()) -> None:
        self.number = len(self.every)
        self.first, self.later = [[self._own(row) for row in rows] for rows in (first, later)]
        self.ocids = {row["ocid"] for row in (*self.first, *self.later)}
        self.every.append(self)

    def organisation(self, key: str = "s1") -> str:
        return f"DC{self.number}{key}"

    def _own(self, row: dict[str, Any]) -> dict[str, Any]:
        own = {**row, "ocid": f"ocds-{self.number}-{row['ocid']}"}
        return {**own, "party_key": self.organisation(row["party_key"])} if is_party(row) else own


def is_party(row: Mapping[str, Any]) -> bool:
    return "party_key" in row


def matched(snapshot: Snapshot) -> Mapping[str, pa.Table]:
    """Resolve each party to the organisation of its key, whatever its name."""
    parties = snapshot.read("SELECT DISTINCT party_key, name FROM tender_parties WHERE name <> ''")
    rows = [
        {
            **dict.fromkeys(PartyMatch.model_fields),
            **{"source": "test", "country": "ZA", **party},
            **{"service_id": party["party_key"], "match_method": "exact_name"},
        }
        for party in parties.to_pylist()
    ]
    return {"party_matches": pa.Table.from_pylist(rows, arrow_schema(PartyMatch))}


class AwardsWorld:
    """The builds of all stories, and what they tell of awards and processes."""

    def __init__(self, root: str) -> None:
        self.record, self.mart_folder = Record(f"{root}/record"), f"{root}/mart"
        self.first = self._publish([row for story in Story.every for row in story.first])
        self._publish([row for story in Story.every for row in story.later])

    def _publish(self, rows: list[dict[str, Any]]) -> str:
        load(self.record, TENDER_PARTIES, *(row for row in rows if is_party(row)))
        load(self.record, TENDER_RELEASES, *(row for row in rows if not is_party(row)))
        return publish(self.record, self.mart_folder, derivations=[Derivation("matched", matched)])

    def rows(
        self, story: Story, as_of: date | None = None, key: str = "s1", first: bool = False
    ) -> list[dict[str, Any]]:
        """Return the awards of a story, of the last build or of the first."""
        mart = Mart(self.mart_folder).at(self.first) if first else Mart(self.mart_folder)
        page = shared_facts(mart, story.organisation(key), None, "AF-TENDER", as_of)
        return [json.loads(row, parse_float=Decimal, parse_int=Decimal) for row in page.rows]

    def won(self, story: Story, as_of: date | None = None, key: str = "s1") -> list[Decimal]:
        return [row["value"] for row in self.rows(story, as_of, key)]

    def tenders(self, story: Story, as_of: date | None = None) -> list[tuple[Any, ...]]:
        """Return the values of the processes of a story."""
        page = shared_facts(Mart(self.mart_folder), None, "ZAF", "AF-TENDER", as_of)
        rows = [json.loads(row, parse_float=Decimal, parse_int=Decimal) for row in page.rows]
        return [
            (row["ocid"], row["value"], row["unit"], row["vintage"])
            for row in rows
            if row["ocid"] in story.ocids
        ]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> AwardsWorld:
    return AwardsWorld(str(tmp_path_factory.mktemp("awards")))


NEW_NAMES: list[dict[str, Any]] = [
    {"name": None, "org_evidence": None},
    {"name": "Beta Fictional Works Ltd"},
]
RENAMED = [
    Story(
        release(award()),
        supplier(),
        later=[release(award(named=new["name"]), at=SECOND), supplier(at=SECOND, **new)],
    )
    for new in NEW_NAMES
]


@pytest.mark.parametrize("story", RENAMED, ids=["without a name", "with another"])
def test_a_party_named_otherwise_later_changes_no_earlier_answer(
    story: Story, world: AwardsWorld
) -> None:
    before = world.rows(story, FIRST, first=True)
    assert world.rows(story, FIRST) == before and len(before) == 1


DROPPED = Story(release(award()), supplier(), later=[release(at=SECOND)])


def test_an_award_that_a_release_drops_is_a_fact_until_then(world: AwardsWorld) -> None:
    assert [row["value"] for row in world.rows(DROPPED, first=True)] == [Decimal("10.5")]
    assert (world.won(DROPPED, FIRST), world.won(DROPPED, SECOND)) == ([Decimal("10.5")], [])
    assert world.won(DROPPED) == []


ENDED = {
    status: Story(
        release(award(status="active")),
        supplier(),
        later=[release(award(None, None, status=status), at=SECOND, release_id="r2")],
    )
    for status in ("cancelled", "unsuccessful", "Cancelled", "pending")
}


@pytest.mark.parametrize("status", ENDED)
def test_an_award_that_does_not_stand_is_not_won(status: str, world: AwardsWorld) -> None:
    ended = ENDED[status]
    assert (world.won(ended, FIRST), world.won(ended, SECOND)) == ([Decimal("10.5")], [])
    assert world.won(ended) == []


REVALUED = Story(
    supplier(),
    supplier(at=SECOND, release_id="r2"),
    supplier(at=THIRD, release_id="r3"),
    release(award()),
    release(award("10.5"), at=SECOND, release_id="r2", released_on=date(2026, 1, 9)),
    release(award("11"), at=THIRD, release_id="r3", released_on=date(2026, 1, 10)),
)


def test_another_value_is_another_vintage_and_the_same_one_is_none(world: AwardsWorld) -> None:
    assert [(row["value"], row["vintage"]) for row in world.rows(REVALUED)] == [(11, 2)]
    assert world.rows(REVALUED, SECOND) == world.rows(REVALUED, FIRST)
    assert [row["available_at"] for row in world.rows(REVALUED, SECOND)] == [str(FIRST)]


WITHOUT_ID = Story(release(award("5", id="1"), award("7", id=None)), supplier())


def test_an_award_without_id_is_not_the_one_whose_id_is_its_place(world: AwardsWorld) -> None:
    assert sorted(world.won(WITHOUT_ID)) == [5, 7]


TWO_OF_ONE_NAME = Story(release(award()), supplier(), supplier("s2"))


def test_of_two_organisations_of_one_name_neither_won(world: AwardsWorld) -> None:
    assert world.won(TWO_OF_ONE_NAME) == world.won(TWO_OF_ONE_NAME, key="s2") == []


OTHER_ZONE = Story(
    release(
        award(date="2020-05-04T23:30:00-05:00"),
        award(id="b", date="2025-12-24T00:00:00+03:00"),
        award(id="c", date="2025-12-25"),
        award(id="d"),
    ),
    supplier(),
)


def test_the_day_of_an_award_is_the_one_that_its_publisher_wrote(world: AwardsWorld) -> None:
    days = sorted(row["period_end"] for row in world.rows(OTHER_ZONE))
    assert days == ["2020-05-04", "2025-12-24", "2025-12-25", "2026-01-02"]


UNDATED = Story(release(award(), at=None), supplier(at=None))


def test_a_release_without_a_day_tells_only_what_is_known_now(world: AwardsWorld) -> None:
    assert (world.won(UNDATED), world.won(UNDATED, date(2026, 1, 1))) == ([Decimal("10.5")], [])


PLAIN = Story(release(award()), supplier())


def test_an_award_fact_names_its_process(world: AwardsWorld) -> None:
    assert {row["ocid"] for row in world.rows(PLAIN)} == PLAIN.ocids


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


CORRECTED = Story(
    valued("10", "r1"),
    valued("10.00", "r2", SECOND),
    valued(None, "r3", SECOND),
    valued("12.5", "r4", THIRD),
)


def test_a_process_has_one_value_on_any_day_the_newest_that_was_known(world: AwardsWorld) -> None:
    (ocid,) = CORRECTED.ocids
    assert world.tenders(CORRECTED, FIRST) == [(ocid, 10, "ZAR", 1)]
    assert world.tenders(CORRECTED, SECOND) == [(ocid, 10, "ZAR", 1)]
    newest = [(ocid, Decimal("12.5"), "ZAR", 2)]
    assert world.tenders(CORRECTED, THIRD) == world.tenders(CORRECTED) == newest


OTHER_CURRENCY = Story(valued("10", "r1"), valued("10", "r2", SECOND, "USD"))


def test_a_value_in_another_currency_is_another_vintage_of_the_process(world: AwardsWorld) -> None:
    assert [row[2:] for row in world.tenders(OTHER_CURRENCY, FIRST)] == [("ZAR", 1)]
    assert [row[2:] for row in world.tenders(OTHER_CURRENCY)] == [("USD", 2)]


WITHOUT_VALUE = Story(
    valued("10", "r1"),
    valued("12", "r2", SECOND),
    later=[valued(None, "r2", THIRD, tag="amended")],
)


def test_a_value_that_its_release_drops_falls_back_to_the_release_before(
    world: AwardsWorld,
) -> None:
    assert [row[1] for row in world.tenders(WITHOUT_VALUE, SECOND)] == [12]
    assert [row[1:] for row in world.tenders(WITHOUT_VALUE)] == [(10, "ZAR", 3)]


SEVERAL = Story(
    valued("1", "r1", FIRST, ocid="a"),
    valued("2", "r1", THIRD, ocid="b"),
    valued("3", "r1", SECOND, ocid="c"),
)


def test_values_of_several_processes_are_served_newest_first_with_their_ocid(
    world: AwardsWorld,
) -> None:
    assert [row[0][-1] for row in world.tenders(SEVERAL)] == ["b", "c", "a"]
