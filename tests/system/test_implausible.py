"""Numbers that cannot be, through a whole publication: shown and marked, and in no panel."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mcp_server.results import compact

from pipelines.commands.quality import current_quality
from quality.floors import FLOORS, measure
from tests.helpers.audited import MOMENT, staged
from tests.helpers.installation import (
    BriefPublication,
    load_sample,
    publication,
    sample_home,
    settings_of,
)
from tests.helpers.made_once import copy_of
from tests.helpers.random_world import derived_of
from tests.helpers.rest_service import world_of
from tests.helpers.signals_world import FIRST, TenderRows, award, panels
from tests.helpers.site import served_site
from tests.helpers.tender_packages import ZA, award_release, write_package
from warehouse.methodology.signals import FEWEST_AMOUNTS
from warehouse.record.store import Record
from warehouse.record.tables import arrow_schema
from warehouse.serve.exports import PublishedExports
from warehouse.tables.derived import Signal

Row = dict[str, Any]
FIRM = "Mzansi Fictional Roads (Pty) Ltd"
NUMBERS = (990_001, 990_002, 990_003)
BIDS, LARGE, NEGATIVE = 2**62, 10**18, -5
# The panels say which releases they were computed from, and these differ; each is of a country.
NOT_COMPARED = ("provenance_id", "country")


def zar(amount: int) -> Row:
    return {"amount": amount, "currency": "ZAR"}


def releases() -> list[Row]:
    """Return releases of three processes with numbers that cannot be."""
    stated: list[list[tuple[str, Row]]] = [
        [("tender", {"numberOfTenderers": BIDS})],
        [("tender", {"value": zar(LARGE)}), ("award", {"value": zar(LARGE)})],
        [("award", {"value": zar(NEGATIVE)}), ("contract", {"value": zar(NEGATIVE)})],
    ]
    made = []
    for number, numbers in zip(NUMBERS, stated, strict=True):
        release = award_release(number, FIRM)
        release["contracts"] = [{"id": "1", "awardID": "1", "status": "active"}]
        del release["awards"][0]["value"]
        release["tender"]["mainProcurementCategory"] = "works"
        parts = {
            "tender": release["tender"],
            "award": release["awards"][0],
            "contract": release["contracts"][0],
        }
        for part, members in numbers:
            parts[part].update(members)
        made.append(release)
    return made


@dataclass(frozen=True)
class Published:
    """A home and the files of its build."""

    home: Path

    def rows(self, key: str) -> list[Row]:
        exports = settings_of(self.home).exports
        table = pq.read_table(Path(exports, PublishedExports(exports).latest(), f"{key}.parquet"))
        rows: list[Row] = table.to_pylist()
        return rows

    def of(self, number: int, key: str) -> list[Row]:
        """Return the rows of one of the processes."""
        return [row for row in self.rows(key) if row["ocid"] == f"ocds-9t57fa-{number}"]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Published:
    home = copy_of(sample_home(tmp_path_factory), "impossible", tmp_path_factory)
    write_package(settings_of(home), "2026-05-03", "i.json", *releases())
    load_sample(home, ZA.key)
    publication(settings_of(home), BriefPublication).run()
    return Published(home)


def test_processes_with_such_numbers_are_in_scope_and_no_fact_has_the_numbers(
    build: Published,
) -> None:
    may = [
        row["n_eligible"]
        for row in build.rows("bidder-participation")
        if (row["country"], row["month"]) == ("ZA", date(2026, 5, 1))
    ]
    assert max(may) >= len(NUMBERS)
    assert [row for number in NUMBERS for row in build.of(number, "af-tender-facts")] == []


def test_files_show_what_was_stated_and_a_mark(build: Published) -> None:
    marks = []
    for number in NUMBERS:
        (release,), (awarded,) = (
            build.of(number, key) for key in ("af-tender-releases", "af-tender-awards")
        )
        marks.append((release["implausible"], awarded["amount"], awarded["amount_implausible"]))
        assert json.loads(release["release"])["tender"]["title"] == f"Works {number}"

    assert marks == [
        (["tender.numberOfTenderers"], None, False),
        (["tender.value.amount", "awards[0].value.amount"], Decimal(LARGE), True),
        (["awards[0].value.amount", "contracts[0].value.amount"], Decimal(NEGATIVE), True),
    ]
    (release,) = build.of(990_001, "af-tender-releases")
    assert release["number_of_tenderers"] == BIDS


# Of one currency: panels count amounts in that of their country.
COUNTRIES, CURRENCY = ("BJ", "CI", "SN"), "XOF"
NONE = (None, None, None)
IMPOSSIBLE = [(BIDS, None, None), (None, LARGE, LARGE), (None, None, NEGATIVE)]


def portal(amount: str | None, *, impossible: bool = False) -> TenderRows:
    """Return a portal of small amounts, but for this of one tender and one award.

    Three more processes have numbers that cannot be, or none.
    """
    world = TenderRows()
    january, march = date(2024, 1, 15), date(2024, 3, 2)

    def release(ocid: str, day: date, estimate: str | None, paid: str | None = None) -> None:
        world.release(
            ocid,
            day,
            number=str(day),
            awards=[award(day=day, amount=paid, currency=CURRENCY, by=(f"s{ocid[-1]}",))],
            buyer_key="b",
            category="works",
            tender_value=estimate and Decimal(estimate),
            tender_currency=estimate and CURRENCY,
        )

    # Trailing sums of a year begin a year after the first release.
    world.release("ocds-first", FIRST, tender=False)
    for number in range(1, FEWEST_AMOUNTS + 1):
        release(f"ocds-{number}", january, str(number))
    release("ocds-award", march, "7", amount)
    release("ocds-tender", january, "7")
    release("ocds-tender", march, amount)
    release("ocds-usual", march, "7", "7")
    for number, (bids, estimate, paid) in enumerate(IMPOSSIBLE if impossible else [NONE] * 3):
        amount = str(paid) if paid else None
        world.release(
            f"ocds-impossible-{number}",
            march,
            awards=[award(day=march, amount=amount, currency=CURRENCY, by=("s",))],
            category="works",
            number_of_tenderers=bids,
            tender_value=estimate and Decimal(estimate),
            tender_currency=estimate and CURRENCY,
        )
    return world


def test_a_number_that_cannot_be_or_is_far_above_all_others_counts_in_no_panel() -> None:
    portals = [portal(None), portal(str(10**12), impossible=True), portal(str(10**5))]
    without, error, large = (
        [{name: row[name] for name in row if name not in NOT_COMPARED} for row in rows]
        for rows in panels(portals, COUNTRIES)
    )

    assert any(row["value"] is not None for row in without)
    assert error == without
    assert large != without


@contextmanager
def opened(build: Published) -> Iterator[Any]:
    world = world_of(build.home)
    with served_site(world) as server:
        yield lambda path: server.get(path, world.paid)[2]


def test_rest_mcp_and_pages_show_what_was_stated_and_a_mark(build: Published) -> None:
    with opened(build) as get:
        for number, path, digits in (
            (990_001, "tender.numberOfTenderers", str(BIDS)),
            (990_002, "awards[0].value.amount", str(LARGE)),
            (990_003, "contracts[0].value.amount", str(NEGATIVE)),
        ):
            body = get(f"/v1/tenders/ocds-9t57fa-{number}")
            (row,) = json.loads(body)["data"]
            assert path in row["implausible"] and digits in body.decode()
            (compacted,) = compact([json.dumps(row).encode()]).rows
            assert json.loads(compacted)["implausible"] == row["implausible"]
            assert digits in compacted.decode()
            page = get(f"/tenders/ocds-9t57fa-{number}").decode()
            assert "implausible, so no panel counts it" in page
            assert digits in page.replace(",", "")
        honest = json.loads(get("/v1/tenders?country=KE"))["data"]
        assert honest and {row["implausible"] for row in honest} == {None}


def test_the_quality_report_counts_releases_with_such_numbers_by_portal(build: Published) -> None:
    rows = {
        row.scope: row
        for row in current_quality(settings_of(build.home))
        if row.metric == "numbers_possible"
    }

    za = rows["za-etenders"]
    assert za.n_checked is not None and za.n_passed == za.n_checked - 3
    assert rows["ke-ppip"].n_passed == rows["ke-ppip"].n_checked


def test_a_month_far_above_its_history_is_listed_and_blocks_nothing(
    record: Record, tmp_path: Path
) -> None:
    months = [date(2024, month, 1) for month in range(1, 11)]
    values = [Decimal(2), Decimal(3), *[Decimal(1)] * 6, Decimal(300), Decimal(30_001)]
    (usual,) = derived_of(Random(1))["signals"].slice(0, 1).to_pylist()
    rows = [
        usual | {"month": month, "value": value, "superseded_at": None, "country": country}
        for country, known in (("KE", [Decimal(1)] * 10), ("ZA", values))
        for month, value in zip(months, known, strict=True)
    ]
    (floor,) = (floor for floor in FLOORS if floor.metric == "month_in_history")

    with staged(record, tmp_path / "stage") as snapshot:
        snapshot.add({"signals": pa.Table.from_pylist(rows, arrow_schema(Signal))})
        measured = [row for _, row in measure(snapshot, MOMENT, [floor])]

    listed = "ZA procurement-demand category_share_count 2024-10"
    assert [(row.scope, row.value, row.status) for row in measured] == [
        ("KE", 1, "PASS"),
        ("ZA", 100, "PASS"),
        (listed, Decimal("100.01"), "FAIL"),
    ]
    assert not floor.blocks
