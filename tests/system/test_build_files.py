"""A build is a manifest of files: however rows are spread over them, answers are the same bytes."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.made_once import copy_of
from tests.helpers.reads import (
    annual,
    entities_found,
    entity,
    facts_known,
    identifiers,
    issuers,
    lookup,
    metrics,
    panel,
    parties,
    releases,
    screen,
    series_known,
    shared_facts,
)
from tests.helpers.record_rows import load, release_row
from tests.helpers.split_world import publish_split, split_home
from warehouse.publish.builds import builds_at, delete_old_builds
from warehouse.publish.file_labels import (
    CELLS,
    bucket_count,
    bucket_name,
    cell_of,
    label_order,
    may_have,
    time_labels,
)
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_RELEASES
from warehouse.serve.build import Mart
from warehouse.serve.rows import RowPage, distinct_values, known_on
from warehouse.shared.errors import UnknownVersion

DAYS = (None, date(2019, 3, 1), date(2021, 6, 1))
READS: dict[str, Callable[[Mart, date | None], Any]] = {
    "facts": lambda mart, day: facts_known(mart, "DCA1", day),
    "all facts": lambda mart, day: facts_known(mart, "DCB2", day, "FY", "all", 7),
    "issuers": lambda mart, _: issuers(mart, 2),
    "series": lambda mart, day: series_known(mart, as_of=day, limit=30),
    "one series": lambda mart, day: series_known(mart, series="FX.EUR.ZAR", as_of=day),
    "one long series": lambda mart, day: series_known(mart, series="LONG", as_of=day, limit=9),
    "a rebased series": lambda mart, day: series_known(mart, series="REBASED", as_of=day, limit=9),
    "series since": lambda mart, day: series_known(mart, as_of=day, from_=date(2018, 9, 1)),
    "names of series": lambda mart, _: distinct_values(
        mart.build(), "series", "macro_series", known_on(date(2021, 1, 1)), 3
    ),
    "annual": lambda mart, _: annual(mart),
    "parties": lambda mart, _: parties(mart),
    "parties of a role": lambda mart, _: parties(mart, role="supplier", limit=3),
    "parties of an organisation": lambda mart, _: parties(mart, service_id="DCA1"),
    "releases of a category": lambda mart, _: releases(mart, "ZA", category="works", limit=9),
    "releases until": lambda mart, day: releases(mart, "ZA", to=day, limit=9),
    "releases since": lambda mart, day: releases(mart, "KE", day, limit=9, to=date(2022, 1, 1)),
    "releases of words": lambda mart, _: releases(mart, "ZA", query="roads", limit=9),
    "entity": lambda mart, _: entity(mart, "DCX9"),
    "search": lambda mart, _: entities_found(mart, "fictional"),
    "identifiers": lambda mart, _: identifiers(mart, "DCA1", paid=True),
    "lookup": lambda mart, _: lookup(mart, "lei", "2138002QX8KZTPLXS721").rows,
    "metrics": lambda mart, day: metrics(mart, "DCA1", as_of=day),
    "screen": lambda mart, day: screen(mart, "net_margin", "desc", day, limit=2),
    "screen ascending": lambda mart, day: screen(mart, "net_margin", "asc", day),
    "panel": lambda mart, day: panel(mart, "procurement-demand", as_of=day, limit=11),
    "panel of a country": lambda mart, day: panel(mart, "procurement-demand", "KE", as_of=day),
    "panel since": lambda mart, day: panel(mart, "procurement-demand", as_of=day, from_=DAYS[1]),
    "financials": lambda mart, day: shared_facts(mart, "DCA1", as_of=day),
    "awards": lambda mart, day: shared_facts(mart, "DCA1", None, "AF-TENDER", day),
    "tenders": lambda mart, day: shared_facts(mart, None, "ZAF", "AF-TENDER", day, limit=9),
    "macro": lambda mart, day: shared_facts(mart, "ZAF", as_of=day, limit=20),
    "pages": lambda mart, _: pages(mart, "ZA"),
    "pages of words": lambda mart, _: pages(mart, "ZA", query="roads"),
}


def pages(mart: Mart, country: str, **filters: Any) -> list[bytes]:
    """Return the releases of a country, three at a time, each page from the cursor before."""
    rows: list[bytes] = []
    after = None
    while True:
        page = releases(mart, country, limit=3, after=after, **filters)
        rows += [bytes(row) for row in page.rows]
        if not page.truncated:
            return rows
        after = page.key_of(len(page.rows))


def answer(result: Any) -> Any:
    """Return the served part of an answer, without its data_version."""
    if isinstance(result, RowPage):
        rows = [bytes(row) for row in result.rows]
        assert b"".join(result.json_chunks()) == b",".join(rows)
        return rows, result.truncated
    if hasattr(result, "universe"):
        return answer(result.rows), result.universe
    return answer(result.identifiers) if hasattr(result, "identifiers") else result


@pytest.fixture(scope="module")
def in_few_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mart]:
    root = tmp_path_factory.mktemp("few")
    with closing(publish_split(root, root / "marts", 1)) as mart:
        yield mart


@pytest.fixture(scope="module")
def in_many_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mart]:
    with closing(Mart(split_home(tmp_path_factory) / "marts")) as mart:
        assert len(mart.build().files("fundamentals")) == 3
        assert len(mart.build().files("tender_releases")) > 10
        yield mart


@pytest.mark.parametrize("name", READS)
def test_answers_do_not_depend_on_how_rows_are_spread_over_files(
    name: str, in_few_files: Mart, in_many_files: Mart
) -> None:
    for day in DAYS:
        few, many = (answer(READS[name](mart, day)) for mart in (in_few_files, in_many_files))
        assert few == many
    assert answer(READS[name](in_many_files, None))


def test_a_build_takes_over_the_files_whose_rows_did_not_change(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = copy_of(split_home(tmp_path_factory), "split", tmp_path_factory)
    marts, record = root / "marts", Record(str(root / "record"))
    before = builds_at(marts).files()
    load(record, TENDER_RELEASES, release_row(1, country="KE", ocid="ke-new"))
    version = publish_split(root, marts, 1 / 4096).build().data_version

    manifest = builds_at(marts).manifest(version)
    assert manifest is not None
    written = {(file.table, file.partition) for file in manifest.files if file.key not in before}
    counted = {"quality", "catalogue", "changes"}
    assert {table for table, _ in written} <= {"tender_releases", "tender_facts", *counted}
    assert len(written) <= 7
    assert all((marts / file.path).is_file() for file in manifest.files)
    delete_old_builds(builds_at(marts), 1)
    assert {path.stem for path in (marts / "files").iterdir()} == {f.key for f in manifest.files}


@pytest.mark.nightly
def test_a_reader_meets_whole_builds_while_they_are_published_and_deleted(tmp_path: Path) -> None:
    marts, record = tmp_path / "marts", Record(str(tmp_path / "record"))
    with closing(publish_split(tmp_path, marts, 1 / 4096)) as mart:
        first, whole = mart.build().data_version, len(pages(mart, "KE"))
    done, found = threading.Event(), list[object]()

    def read() -> None:
        with closing(Mart(marts)) as mart:
            while not done.is_set():
                try:
                    # A cursor is valid in its build only.
                    found.append(len(pages(mart.at(mart.build().data_version), "KE")))
                    pages(mart.at(first), "KE")
                except UnknownVersion as gone:
                    found.append(str(gone).partition(" ")[2].partition(":")[0])
                except Exception as error:
                    found.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(3):
            row = release_row(number, country="KE", ocid=f"ke-{number}-new")
            load(record, TENDER_RELEASES, row)
            publish_split(tmp_path, marts, 1 / 4096)
            delete_old_builds(builds_at(marts), 2)
    finally:
        done.set()
        reader.join()
    assert {*found} <= {*range(whole, whole + 4), "is not available"}, {*found}
    assert len(pages(Mart(marts), "KE")) == whole + 3


@given(st.text(max_size=12), st.integers(1, 10**7), st.integers(1, 10**5))
def test_every_value_has_one_bucket_of_a_power_of_two(text: str, rows: int, most: int) -> None:
    buckets = bucket_count(rows, most, CELLS)
    assert buckets.bit_count() == 1 and (buckets == CELLS or buckets * most >= rows)
    number, bucket = map(int, bucket_name(cell_of(text), buckets).split("-"))
    assert number == buckets and 0 <= bucket < buckets


months_with_rows = st.dictionaries(
    st.dates(date(2020, 1, 1), date(2026, 1, 1)).map(lambda day: f"{day:%Y-%m}"), st.integers(1, 99)
)


@given(months_with_rows)
def test_files_of_a_value_follow_each_other_newest_first(months: dict[str, int]) -> None:
    labels = time_labels("ZA", {**months, "": 1}, 6)
    newest_first = sorted(labels, reverse=True)
    ordered = sorted(labels.values(), key=label_order)
    assert [labels[month] for month in newest_first] == ordered


@given(months_with_rows, st.dates(date(2020, 1, 1), date(2026, 1, 1)), st.integers(0, 900))
def test_a_file_with_a_day_that_is_asked_for_is_read(
    months: dict[str, int], since: date, days: int
) -> None:
    first, last = since.isoformat(), (since + timedelta(days)).isoformat()
    for month, label in time_labels("ZA", {**months, "": 1}, 6).items():
        if month:
            assert may_have(label, first, last) >= (first[:7] <= month <= last[:7])
        assert may_have(label, until=last) >= (month <= last[:7])
        assert may_have(label, since=first) >= (month >= first[:7])
