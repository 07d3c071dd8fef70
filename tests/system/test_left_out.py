"""Rows that fail a rule never block the rest: they are quarantined, or left out and counted."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from falcon.testing import TestClient

from api.app import create_app
from pipelines.builds import LEFT_OUT
from pipelines.publication import CONFIRMED
from quality.personal_data_audit import PERSONAL_DATA_RULES
from quality.report import MAX_ROWS, accepted_shares, find_excess
from tests.helpers.facts import fact
from tests.helpers.failing_rows import GOOD, failing_rows
from tests.helpers.found_bytes import files_with
from tests.helpers.installation import publication, run_command, settings_of
from tests.helpers.publishing import publish
from tests.helpers.reads import facts_known
from tests.helpers.record_rows import entity_row, load, party_row, release_row
from tests.helpers.unchecked import append_unchecked
from warehouse.control.keys import KeyStore
from warehouse.publish.builds import builds_at
from warehouse.publish.snapshot import RowCheck, Snapshot
from warehouse.record import rules
from warehouse.record.rules import RowRule, rules_of
from warehouse.record.store import Record
from warehouse.record.tables import (
    ENTITIES,
    FUNDAMENTALS,
    RECORD_TABLES,
    TENDER_PARTIES,
    TENDER_RELEASES,
)
from warehouse.serve.build import Mart
from warehouse.tables.derived import LeftOut

PERSON = "Thandiwe Nomsa Mokoena"
FIRM = "Ubuntu Fictional Mining Ltd"
WHY = "the portal wrote pence for a month"


def ocds_release(number: int, currency: str, award_currency: str = "KES") -> dict[str, Any]:
    """Return a release as a Kenyan entity might publish it."""
    return {
        "ocid": f"ocds-5whusi-{number}",
        "id": f"{number}-tender",
        "date": "2026-03-02T11:49:07+03:00",
        "tag": ["tender"],
        "tender": {
            "id": str(number),
            "title": "Grading of rural roads",
            "status": "active",
            "value": {"amount": 1500000.10, "currency": currency},
        },
        "awards": [
            {
                "id": f"a{number}",
                "status": "active",
                "value": {"amount": 1400000, "currency": award_currency},
                "suppliers": [{"id": "7", "name": FIRM}],
            }
        ],
        "parties": [{"id": "7", "name": FIRM, "roles": ["supplier"]}],
    }


def old_rows_with_people(record: Record) -> None:
    """Append what an older organisation check let through: one row for each of its rules."""
    process = {"ocid": "ocds-0009", "source_ref": "d0#/9"}
    append_unchecked(record, TENDER_PARTIES, party_row(name=PERSON, party_key="p", **process))
    append_unchecked(
        record,
        TENDER_RELEASES,
        # Its party is left out, so that no one vouches for the name in its JSON.
        release_row(9, release=f'{{"buyer":{{"name":"{PERSON}"}}}}', **process),
        release_row(8, release='{"tender":{"description":"Ask thandi@example.org"}}'),
    )
    person = {"legal_name": PERSON, "entity_type": None, "other_names": None}
    former = {"other_names": f'["Mrs {PERSON}"]'}
    append_unchecked(
        record,
        ENTITIES,
        entity_row(service_id="DCPERSON", source_ref="d0#/person", **person),
        entity_row(service_id="DCFORMER", source_ref="d0#/former", **former),
    )


@dataclass(frozen=True)
class Home:
    """A home in which real documents and an older record fail every rule."""

    home: Path
    ingested: tuple[int, str, str]
    quarantined: str
    version: str
    left_out: list[dict[str, Any]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = tmp_path_factory.mktemp("rules") / "home"
    home.mkdir()
    package = home.parent / "releases.json"
    releases = [
        ocds_release(1, "KES"),
        ocds_release(2, "kes"),
        ocds_release(3, "Rand"),
        # The currency of an award is in JSON that is served as it is.
        ocds_release(4, "KES", award_currency="Kshs"),
    ]
    package.write_text(json.dumps({"releases": releases}), encoding="utf-8")
    origin = ("--origin", "https://tenders.go.ke/ocds", "--observed-at", "2026-03-03")
    ingested = run_command(home, "ingest", "ke-ppip", str(package), *origin)
    quarantined = run_command(home, "quarantine", "list", "--json")[1]
    record = Record(settings_of(home).record)
    for table in RECORD_TABLES:
        load(record, table, GOOD[table])
        old = [row for rule, row in failing_rows(table) if "snapshot" in rule.stages]
        append_unchecked(record, table, *old)
    load(record, ENTITIES, entity_row(service_id="DCKE", country="KE", jurisdiction="KE"))
    old_rows_with_people(record)
    version = publication(settings_of(home)).run()
    listed = json.loads(builds_at(settings_of(home).marts).metadata(version)[LEFT_OUT])
    return Home(home, ingested, quarantined, version, listed)


def test_a_currency_that_is_no_code_is_quarantined_and_the_rest_is_read(home: Home) -> None:
    status, _, err = home.ingested
    assert status == 0, err
    reasons = {row["reason"] for row in json.loads(home.quarantined)}
    assert reasons == {
        f"row {row}, tender_currency: {currency!r} is not a currency code "
        "(three capital letters, ISO 4217)"
        for row, currency in ((1, "kes"), (2, "Rand"))
    }


def test_every_rule_that_old_rows_fail_is_counted_and_the_rest_is_published(home: Home) -> None:
    left_out = {(row["table_name"], row["rule"]) for row in home.left_out}

    assert left_out == {
        *(
            (table.name, rule.words)
            for table in RECORD_TABLES
            for rule in rules_of(table)
            if "snapshot" in rule.stages
        ),
        *((rule.table.name, rule.words) for rule in PERSONAL_DATA_RULES),
        ("award_facts", "currencies are three-letter codes"),
    }
    assert all(row["rows_left_out"] == 1 for row in home.left_out)
    mart = Mart(settings_of(home.home).marts)
    facts = facts_known(mart, "DCTEST1", vintages="all")
    assert facts is not None and len(facts.rows) == 1
    mart.close()


def test_no_surface_contains_what_was_left_out(home: Home) -> None:
    settings = settings_of(home.home)
    version = home.version
    folder = Path(settings.exports, version)
    tables = list(folder.rglob("*.parquet"))
    assert tables
    for path in tables:
        assert PERSON not in str(pq.read_table(path).to_pylist()), path
    for path in folder.rglob("*"):
        assert path.is_dir() or PERSON.encode() not in path.read_bytes(), path
    assert builds_at(settings.marts).files()
    assert files_with(Path(settings.marts, "files"), PERSON) == []


def test_what_was_left_out_is_shown_by_the_command_and_on_the_page(home: Home) -> None:
    status, out, _ = run_command(home.home, "quality", "--left-out", "--json")
    assert status == 0
    assert json.loads(out) == home.left_out
    settings = settings_of(home.home)
    app = create_app(Mart(settings.marts), KeyStore(settings.control))
    page = TestClient(app).simulate_get("/quality/").text
    assert "an LEI has 18 letters or digits" in page
    # Examples would lead to the people who are left out.
    assert "d0#/" not in page


@pytest.mark.nightly
def test_a_rule_that_takes_too_many_rows_waits_for_a_person(home: Home) -> None:
    record = Record(settings_of(home.home).record)
    many = [
        fact(issuer=f"DC{n}", currency_reported="pence", source_ref=f"d1#/{n}")
        for n in range(MAX_ROWS)
    ]
    append_unchecked(record, FUNDAMENTALS, *many)

    status, out, err = run_command(home.home, "publish")

    assert status == 4 and "published as" not in out
    assert "fundamentals: currencies are three-letter codes: fails for 21 of " in err
    assert "more than 5%, first at d0#/" in err
    assert '`sankofa publish --confirm-loss "why"`' in err
    assert builds_at(settings_of(home.home).marts).current() == home.version

    status, out, err = run_command(home.home, "publish", "--confirm-loss", WHY)

    assert status == 0, err
    builds = builds_at(settings_of(home.home).marts)
    confirmed = json.loads(builds.metadata(str(builds.current()))[CONFIRMED])
    assert confirmed["why"] == WHY
    assert "currencies are three-letter codes: left out 21 of" in confirmed["losses"][0]


def left_out(rows: int, stored: int, source: str = "a") -> LeftOut:
    return LeftOut(
        table_name="fundamentals",
        rule="currencies are three-letter codes",
        source=source,
        rows_left_out=rows,
        rows_stored=stored,
        example="d#/1",
    )


@pytest.mark.parametrize(
    ("rows", "stored", "too_many"),
    [(50, 1000, False), (51, 1000, True), (MAX_ROWS, 21, False), (MAX_ROWS + 1, 21, True)],
)
def test_a_rule_blocks_above_its_share_and_never_for_a_few_rows(
    rows: int, stored: int, too_many: bool
) -> None:
    halves = [left_out(rows // 2, stored, "a"), left_out(rows - rows // 2, stored, "b")]
    assert bool(find_excess(halves, {})) == too_many


def test_what_a_person_accepted_stays_accepted_until_as_much_comes_on_top() -> None:
    rows = [left_out(300, 1000)]
    excess = find_excess(rows, {})
    accepted = accepted_shares(rows, excess, {})
    assert accepted == {"fundamentals: currencies are three-letter codes": Decimal("0.3")}

    more = [left_out(350, 1000)]
    assert find_excess(more, accepted) == []
    # It does not creep: the share that was looked at counts, not that of the build before.
    assert accepted_shares(more, [], accepted) == accepted
    assert find_excess([left_out(351, 1000)], accepted)
    assert accepted_shares([], [], accepted) == {}


def test_a_rule_that_takes_most_of_a_small_source_blocks_and_can_be_accepted() -> None:
    rows = [left_out(30, 100_000, "small"), left_out(30, 100_000, "large")]
    stored = {("fundamentals", "small"): 30, ("fundamentals", "large"): 99_970}
    (excess,) = find_excess(rows, {}, stored)
    assert str(excess).startswith(
        "fundamentals: currencies are three-letter codes (rows of small): fails for 30 of 30 rows"
    )
    accepted = accepted_shares(rows, [excess], {})
    assert find_excess(rows, accepted, stored) == []
    assert accepted_shares(rows[1:], [], accepted) == {}
    # So few rows are never too many.
    assert find_excess([left_out(MAX_ROWS, 100_000, "small")], {}, stored) == []


def test_what_an_operator_withholds_is_never_too_much() -> None:
    withheld = left_out(900, 1000).model_copy(update={"rule": "withheld by the operator: the row"})
    assert find_excess([withheld], {}) == []


FIRST, SECOND = date(2019, 3, 29), date(2020, 3, 30)


@dataclass(frozen=True)
class Ruled:
    """The builds of one record, each by other rules."""

    mart: Mart
    names: list[str]
    loads: set[int]

    def items(self, build: int, as_of: date | None = None) -> list[tuple[str, int]]:
        known = facts_known(self.mart.at(self.names[build]), "DCTEST1", as_of)
        assert known is not None
        rows = map(json.loads, known.rows)
        return [(row["line_item"], row["value_reported"]) for row in rows]


@pytest.fixture(scope="module")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ruled]:
    folder = tmp_path_factory.mktemp("ruled")
    record, mart = Record(str(folder / "record")), folder / "mart"
    load(
        record,
        FUNDAMENTALS,
        fact("7", item="profit"),
        fact("10", available_at=FIRST, publication="a"),
        fact("12", available_at=SECOND, publication="b", accounting_standard="guessed"),
    )
    loads = set()

    def published(check: RowCheck) -> str:
        name = publish(record, mart, checks=[check])
        assert publish(record, mart, checks=[check]) == name
        loads.add(record.table("loads").count())
        return name

    def leave_out_profit(snapshot: Snapshot) -> None:
        snapshot.leave_out(FUNDAMENTALS, {"no profit": "line_item = 'profit'"})

    checked = RowCheck("2", leave_out_profit)
    names = [published(RowCheck("1", lambda _: None)), published(checked)]
    words = "the accounting standard is known"
    stricter = RowRule("accounting_standard", "accounting_standard <> 'guessed'", words, "is not")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "_LISTED", [*rules._LISTED, (["fundamentals"], stricter)])
        rules_of.cache_clear()
        names.append(published(checked))
    rules_of.cache_clear()
    ruled = Ruled(Mart(mart), names, loads)
    yield ruled
    ruled.mart.close()


def test_a_stricter_rule_holds_from_the_next_publication_and_nothing_is_read_again(
    ruled: Ruled,
) -> None:
    assert len(set(ruled.names)) == len(ruled.names) and len(ruled.loads) == 1
    for as_of in (None, FIRST, SECOND):
        assert ruled.items(2, as_of) == [("revenue", 10)]
    # What was published before is not changed by a rule of today.
    assert ruled.items(1) == [("revenue", 12)]


def test_a_check_of_another_version_is_applied_to_an_unchanged_record(ruled: Ruled) -> None:
    assert sorted(ruled.items(0)) == [("profit", 7), ("revenue", 12)]
    assert ruled.items(1) == [("revenue", 12)]
