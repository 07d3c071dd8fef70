"""Every read: no row from after as_of, no row lost, and each build by itself."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from assets.derive.metrics import metrics as derived_metrics
from tests.helpers.random_world import DAYS, FIRST_DAY, ISSUERS, ITEMS, derived_of, publish_world
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
    quality_metrics,
    releases,
    screen,
    series_known,
    shared_facts,
)
from warehouse.contract.problems import Problem
from warehouse.publish.builds import builds_at
from warehouse.publish.snapshot import Snapshot
from warehouse.record.tables import arrow_schema
from warehouse.serve.build import Mart, check_readable
from warehouse.serve.catalogue import export_manifest
from warehouse.serve.packs import latest_rows
from warehouse.serve.rows import RowPage
from warehouse.shared.errors import (
    DatastoreUnavailable,
    NothingPublished,
    UnknownVersion,
)
from warehouse.tables.derived import Metric

SEED = 7
UNTIL = FIRST_DAY + timedelta(DAYS // 2)
FUTURE = datetime.now(UTC).date() + timedelta(400)
HIDDEN = {"superseded_at", "latest", "withdrawn", "answers_from", "answers_until", "row_id"}

Question = Callable[[Mart, date | None], RowPage | None]

# Every query that takes as_of, with its variants.
AS_OF: dict[str, Question] = {
    "facts": lambda mart, day: facts_known(mart, "DCA1", day),
    "facts as reported": lambda mart, day: facts_known(mart, "DCB2", day, None, "as_reported"),
    "every vintage": lambda mart, day: facts_known(mart, "DCC3", day, None, "all"),
    "facts of a line": lambda mart, day: facts_known(mart, "DCA1", day, line_items=["profit"]),
    "series": lambda mart, day: series_known(mart, "ZA", as_of=day),
    "shared financials": lambda mart, day: shared_facts(mart, "DCA1", as_of=day),
    "shared awards": lambda mart, day: shared_facts(mart, "DCA1", None, "AF-TENDER", day),
    "shared tenders": lambda mart, day: shared_facts(mart, None, "zaf", "AF-TENDER", day),
    "shared macro": lambda mart, day: shared_facts(mart, "ZAF", None, "AF-MACRO", day),
    "shared macro of a country": lambda mart, day: shared_facts(
        mart, country="ZAF", dataset="AF-MACRO", as_of=day, measure="FX.EUR.ZAR"
    ),
    "metrics": lambda mart, day: metrics(mart, "DCA1", "net_margin", day),
    "screen": lambda mart, day: screen(mart, "net_margin", as_of=day).rows,
    "screen from below": lambda mart, day: screen(mart, "net_margin", "asc", day, "ZA").rows,
    "demand": lambda mart, day: panel(mart, "procurement-demand", "ZA", as_of=day),
    "panel": lambda mart, day: panel(
        mart, "procurement-demand", None, "category", "works", as_of=day
    ),
}
# Every query without as_of.
TIMELESS: dict[str, Question] = {
    "annual": lambda mart, _: annual(mart, "zaf"),
    "releases": lambda mart, _: releases(mart, "za"),
    "releases of words": lambda mart, _: releases(mart, "ZA", query="ROADS ecol"),
    "releases of a buyer": lambda mart, _: releases(mart, "ZA", buyer="agency 2"),
    "parties": lambda mart, _: parties(mart, "ZA"),
    "entity": lambda mart, _: entity(mart, "DCB2"),
    "search": lambda mart, _: entities_found(mart, "fictional"),
    "identifiers": lambda mart, _: _identified(mart),
    "lookup": lambda mart, _: lookup(mart, "registry", "2001/123456/07").rows,
    "quality": lambda mart, _: quality_metrics(mart, "af-fund"),
}


def _identified(mart: Mart) -> RowPage:
    answer = identifiers(mart, "DCA1", paid=True)
    assert answer is not None
    return answer.rows


@dataclass(frozen=True)
class Published:
    """The same world twice: as much as was public on a day, and all of it.

    Between the two, a build failed half way: ``failure`` is how, and ``seen`` what was there then.
    """

    marts: str | Path
    mart: Mart
    before: str
    after: str
    failure: str
    seen: tuple[list[str], str]


@pytest.fixture(scope="module")
def published(
    new_marts: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Published]:
    marts, root = new_marts(), tmp_path_factory.mktemp("world")
    before = publish_world(root / "record", marts, SEED, UNTIL, _also_derived)
    # The tables before it are already written; the error is the engine's.
    with pytest.raises(Exception) as failure:
        publish_world(root / "record", marts, SEED, None, _broken)
    mart = Mart(marts)
    seen = builds_at(marts).names(), check_readable(mart)
    after = publish_world(root / "record", marts, SEED, None, _also_derived)
    yield Published(marts, mart, before, after, str(failure.value), seen)
    mart.close()


def _also_derived(snapshot: Snapshot) -> dict[str, pa.Table]:
    """Return the invented net margins, and every other metric as it is derived."""
    invented = derived_of(Random(SEED))
    derived = derived_metrics(snapshot)
    others = {
        name: rows.filter(pc.field("metric") != pc.scalar("net_margin")).cast(invented[name].schema)
        for name, rows in derived.items()
    }
    return {name: pa.concat_tables([invented[name], rows]) for name, rows in others.items()}


def _broken(_: Snapshot) -> dict[str, pa.Table]:
    rows = [row | {"inputs": "no JSON"} for row in derived_of(Random(SEED))["metrics"].to_pylist()]
    return {"metrics": pa.Table.from_pylist(rows, arrow_schema(Metric))}


def parsed_rows(rows: RowPage | None) -> list[dict[str, Any]]:
    return [] if rows is None else [json.loads(row, parse_float=Decimal) for row in rows.rows]


def random_days(number: int = 25) -> list[date]:
    random = Random(SEED)
    return [FIRST_DAY + timedelta(random.randrange(-30, DAYS + 400)) for _ in range(number)]


@pytest.mark.parametrize("name", AS_OF)
def test_no_row_became_available_after_as_of(name: str, published: Published) -> None:
    seen = 0
    for day in random_days():
        for row in parsed_rows(AS_OF[name](published.mart, day)):
            assert row["available_at"] <= day.isoformat()
            assert not HIDDEN & set(row)
            seen += 1
    assert seen


@pytest.mark.parametrize("name", AS_OF)
def test_what_arrives_later_never_changes_an_earlier_answer(
    name: str, published: Published
) -> None:
    earlier = published.mart.at(published.before)
    answered = 0
    for day in filter(lambda day: day <= UNTIL, random_days(40)):
        then, now = AS_OF[name](earlier, day), AS_OF[name](published.mart, day)
        assert (then and then.rows) == (now and now.rows)
        answered += len(then.rows) if then else 0
    assert answered


def test_what_arrives_later_may_only_remove_a_metric(published: Published) -> None:
    seen = 0
    for day in filter(lambda day: day <= UNTIL, random_days(40)):
        then, now = (
            {
                (row["service_id"], row["period_end"], row["value"])
                for row in parsed_rows(
                    screen(published.mart.at(version), "revenue_growth", as_of=day).rows
                )
            }
            for version in (published.before, published.after)
        )
        assert now <= then
        seen += len(then)
    assert seen


@pytest.mark.parametrize("name", AS_OF)
def test_a_future_day_is_treated_as_today(name: str, published: Published) -> None:
    today = AS_OF[name](published.mart, datetime.now(UTC).date())

    assert AS_OF[name](published.mart, FUTURE) == today


@pytest.mark.parametrize("name", [*AS_OF, *TIMELESS])
def test_every_question_of_these_tests_finds_rows(name: str, published: Published) -> None:
    answer = (AS_OF | TIMELESS)[name](published.mart, None)
    assert answer is not None and answer.rows


@pytest.mark.parametrize("table", ["fundamentals", "macro_series"])
def test_a_page_may_start_before_within_or_after_the_rows_of_a_key(
    published: Published, table: str
) -> None:
    build = published.mart.build()
    keys = {key for file in build.files(table) for (key,) in file.query("SELECT key FROM packs")}
    assert len(keys) > 1
    for key in keys:
        rows, _ = latest_rows(build, table, key, None, None)
        places = [rows.place(index) for index in range(len(rows))]
        numbers = [number for _, number in places]
        label = places[0][0].label if places else ""
        for after in {1, *(number + step for number in numbers[:2] for step in (-2, -1, 0, 1))}:
            later = [row for row, number in zip(rows, numbers, strict=True) if number > after]
            page, truncated = latest_rows(build, table, key, None, 1, (label, after))
            assert (list(page), truncated) == (later[:1], len(later) > 1)
        last = numbers[-1] if numbers else 1
        for after in (last, last + 1, last + 1_000_000):
            assert list(latest_rows(build, table, key, None, 1, (label, after))[0]) == []


@pytest.mark.parametrize("name", [*AS_OF, *TIMELESS])
def test_a_pinned_version_still_answers_as_before(name: str, published: Published) -> None:
    ask, day = (AS_OF | TIMELESS)[name], UNTIL + timedelta(300)
    pinned = ask(published.mart.at(published.before), day)
    current = ask(published.mart, day)

    assert pinned is not None and current is not None
    assert (pinned.data_version, current.data_version) == (published.before, published.after)


@pytest.mark.parametrize("limit", [1, 3, 7, 40])
@pytest.mark.parametrize(
    "filters",
    [{}, {"query": "roads"}, {"buyer": "agency"}, {"category": "works"}, {"to": date(2018, 1, 4)}],
)
def test_keyset_pagination_returns_every_release_once(
    limit: int, filters: dict[str, Any], published: Published
) -> None:
    all_rows = releases(published.mart, "ZA", **filters)
    paged_rows: list[bytes] = []
    after = None
    while True:
        page = releases(published.mart, "ZA", limit=limit, after=after, **filters)
        paged_rows += page.rows
        assert len(page.rows) <= limit
        if not page.truncated:
            break
        after = page.key_of(len(page.rows))

    assert paged_rows == all_rows.rows and len(set(paged_rows)) == len(paged_rows) > 0
    days = [row["date"] for row in parsed_rows(all_rows)]
    assert days == sorted(days, reverse=True)


LIMITED: dict[str, Callable[[Mart, int], RowPage | None]] = {
    "facts": lambda mart, most: facts_known(mart, "DCA1", limit=most),
    "series": lambda mart, most: series_known(mart, limit=most),
    "annual": lambda mart, most: annual(mart, limit=most),
    "releases": lambda mart, most: releases(mart, "ZA", limit=most),
    "parties": lambda mart, most: parties(mart, limit=most),
    "search": lambda mart, most: entities_found(mart, "fictional", limit=most),
    "metrics": lambda mart, most: metrics(mart, "DCA1", limit=most),
    "screen": lambda mart, most: screen(mart, "net_margin", limit=most).rows,
    "demand": lambda mart, most: panel(mart, "procurement-demand", "ZA", limit=most),
    "shared financials": lambda mart, most: shared_facts(mart, "DCA1", limit=most),
    "shared macro": lambda mart, most: shared_facts(mart, "ZAF", limit=most),
}


@pytest.mark.parametrize("name", LIMITED)
def test_truncation_is_reported_exactly(name: str, published: Published) -> None:
    all_rows = LIMITED[name](published.mart, 1000)
    assert all_rows is not None and not all_rows.truncated
    for most in {1, len(all_rows.rows) - 1, len(all_rows.rows)} - {0}:
        truncated = LIMITED[name](published.mart, most)
        assert truncated is not None and truncated.rows == all_rows.rows[:most]
        assert truncated.truncated == (most < len(all_rows.rows))


@pytest.mark.parametrize(
    ("query", "service_ids"),
    [
        ("2138002qx8kztplxs721", ["DCA1"]),
        ("xjse:alp", ["DCA1"]),
        ("alpha FICTIONAL works ltd", ["DCA1"]),
        ("societe fictive aerzte", ["DCB2"]),
        ("gama fictionnal road", ["DCC3"]),
        ("ALP", ["DCA1"]),
        ("alp on the JSE", ["DCA1"]),
        ("LEI: 2138002QX8KZTPLXS721", ["DCA1"]),
        ("zae000000001", ["DCB2"]),
        ("Société  fictive, arzte", ["DCB2"]),
        ("gamma", ["DCC3"]),
        ("roads gam", ["DCC3"]),
        ("fictional", ["DCA1", "DCC3"]),
        ("nobody", []),
    ],
)
def test_an_organisation_is_found_by_its_name_or_identifier(
    query: str, service_ids: list[str], published: Published
) -> None:
    assert [
        row["service_id"] for row in parsed_rows(entities_found(published.mart, query))
    ] == service_ids


def test_a_search_keeps_to_a_country(published: Published) -> None:
    assert [
        row["service_id"] for row in parsed_rows(entities_found(published.mart, "fict", "ke"))
    ] == ["DCB2"]


def test_the_paid_identifiers_are_named_where_they_are_withheld(published: Published) -> None:
    free, paid = (identifiers(published.mart, "DCA1", paid) for paid in (False, True))

    assert free is not None and paid is not None
    assert [row["id_type"] for row in parsed_rows(free.identifiers)] == ["lei", "ticker"]
    assert free.withheld_id_types == ["registry"] and paid.withheld_id_types == []
    assert free.crosswalk_loaded and free.legal_name == "Alpha Fictional Works Ltd"
    assert parsed_rows(paid.identifiers)[1]["id_value"] == "2001/123456/07"
    assert identifiers(published.mart, "DCNOBODY", True) is None


def test_identifiers_of_an_id_that_points_to_another_are_those_of_both(
    published: Published,
) -> None:
    answer = identifiers(published.mart, "DCX9", True)

    assert answer is not None
    assert [
        row["id_value"] for row in parsed_rows(answer.identifiers) if row["id_type"] == "isin"
    ] == [
        "ZAE000000001",
        "ZAE000000009",
    ]
    assert [row["service_id"] for row in parsed_rows(entity(published.mart, "DCX9"))] == ["DCB2"]


def test_a_number_of_two_registers_is_ambiguous(published: Published) -> None:
    two = lookup(published.mart, "registry", "2001/123456/07")
    one = lookup(published.mart, "isin", "zae000000009")

    assert two.ambiguous and not two.rows.truncated
    assert [(row["service_id"], row["issuer"]) for row in parsed_rows(two.rows)] == [
        ("DCA1", "RA000604"),
        ("DCB2", "RA000605"),
    ]
    assert not one.ambiguous and parsed_rows(one.rows)[0]["service_id"] == "DCB2"
    assert parsed_rows(lookup(published.mart, "figi", "BBG000B9XRY4").rows) == []


def test_the_screen_ranks_by_value_and_counts_the_issuers_it_leaves_out(
    published: Published,
) -> None:
    down, up = screen(published.mart, "net_margin"), screen(published.mart, "net_margin", "asc")

    values = [row["value"] for row in parsed_rows(down.rows)]
    assert values == sorted(values, reverse=True) and len(values) == len(ISSUERS)
    assert [row["value"] for row in parsed_rows(up.rows)] == values[::-1]
    assert [row["rank"] for row in parsed_rows(up.rows)] == [1, 2, 3]
    assert down.universe["covered"] == down.universe["ranked"] == 3
    before = screen(published.mart, "net_margin", as_of=FIRST_DAY)
    assert before.universe["left_out"] == {**dict.fromkeys(before.universe["left_out"], 0)} | {
        "input_not_reported": before.universe["covered"]
    }
    exact = {"fact_id": "f", "value": Decimal("1234567890123456.78"), "source_ref": "d#/2"}
    assert parsed_rows(down.rows)[0]["inputs"] == [exact]


def test_a_metric_states_the_as_of_of_the_request(published: Published) -> None:
    (row,) = parsed_rows(metrics(published.mart, "DCA1", "net_margin", date(2022, 6, 1)))

    assert (row["as_of"], row["legal_name"], row["country"]) == (
        "2022-06-01",
        "Alpha Fictional Works Ltd",
        "ZA",
    )
    assert parsed_rows(metrics(published.mart, "DCNOBODY")) == []


def test_a_panel_is_bounded_by_months_and_unknown_keys_are_reported(published: Published) -> None:
    from_, to = date(2018, 3, 15), date(2018, 5, 1)
    bounded = panel(published.mart, "procurement-demand", "ZA", from_=from_, to=to)

    months = [row["month"] for row in parsed_rows(bounded)]
    assert months == ["2018-05-01", "2018-04-01", "2018-03-01"]
    assert panel(published.mart, "no-such-panel") is None
    assert parsed_rows(panel(published.mart, "procurement-demand", "KE")) == []


def test_an_unmeasured_metric_says_so(published: Published) -> None:
    rows = parsed_rows(quality_metrics(published.mart, "af-FUND"))

    assert {row["metric"]: row["value"] for row in rows} == {
        "coverage": "UNMEASURED",
        "provenance_complete": 1,
    }
    assert quality_metrics(published.mart, "AF-NONE") is None


def test_a_party_is_counted_over_its_releases(published: Published) -> None:
    (row,) = parsed_rows(parties(published.mart, service_id="DCA1"))

    assert (row["role"], row["releases"], row["match_method"]) == ("supplier", 40, "exact_name")
    assert row["first_release"] <= row["last_release"]
    assert parsed_rows(parties(published.mart, "KE")) == []


def test_a_shared_fact_has_the_members_of_the_contract(published: Published) -> None:
    members = {
        *("fact_id", "entity_id", "entity_name", "country_iso3", "dataset", "measure", "value"),
        *("unit", "base_period", "period_end", "period_type", "ocid", "available_at", "vintage"),
        *("buyer", "buyer_id", "title", "category", "provenance_id"),
        *("source_ref", "license_class", "extraction_confidence", "observed_at", "method"),
    }
    for ask in (read for name, read in AS_OF.items() if name.startswith("shared")):
        rows = parsed_rows(ask(published.mart, None))
        assert all(set(row) == members for row in rows) and rows
        assert len({row["fact_id"] for row in rows}) == len(rows)
    with pytest.raises(Problem):
        shared_facts(published.mart)
    with pytest.raises(Problem):
        shared_facts(published.mart, country="ZAF", dataset="AF-FUND")


def test_annual_macro_has_no_day_and_is_left_out_of_any_as_of(published: Published) -> None:
    now = {row["measure"] for row in parsed_rows(shared_facts(published.mart, "ZAF"))}
    then = {
        row["measure"] for row in parsed_rows(shared_facts(published.mart, "ZAF", as_of=FUTURE))
    }

    assert now - then == {"NY.GDP"}


def test_an_award_of_two_vintages_is_one_fact(published: Published) -> None:
    rows = parsed_rows(shared_facts(published.mart, "DCA1", None, "AF-TENDER"))

    assert len(rows) == 40
    assert {row["value"] for row in rows} <= {Decimal("1000.25"), Decimal("1001.25")}


def test_a_build_says_what_it_exported(published: Published) -> None:
    assert export_manifest(published.mart) is None
    assert check_readable(published.mart) == published.after
    assert issuers(published.mart, 2) == list(ISSUERS[:2])
    assert len(parsed_rows(facts_known(published.mart, "DCA1"))) == len(ITEMS) * 3


def test_readers_see_the_switch_between_two_reads(published: Published) -> None:
    builds = builds_at(published.marts)
    assert builds.names() == [published.before, published.after]
    builds.switch(published.before)
    try:
        assert check_readable(published.mart) == published.before
    finally:
        builds.switch(published.after)
    assert check_readable(published.mart) == published.after
    with pytest.raises(UnknownVersion):
        builds.switch("20000101.1")
    with pytest.raises(UnknownVersion):
        check_readable(published.mart.at("20000101.1"))


def test_nothing_is_read_before_the_first_build(new_marts: Callable[[], str]) -> None:
    marts = new_marts()
    mart = Mart(marts)
    with pytest.raises(NothingPublished):
        check_readable(mart)
    assert (builds_at(marts).names(), builds_at(marts).current()) == ([], None)
    mart.close()


def test_a_removed_build_cannot_be_read(published: Published, tmp_path: Path) -> None:
    marts = shutil.copytree(published.marts, tmp_path / "marts")
    mart = Mart(marts)

    builds_at(marts).remove(published.before)

    assert builds_at(marts).names() == [published.after]
    with pytest.raises(UnknownVersion):
        check_readable(mart.at(published.before))
    with pytest.raises(DatastoreUnavailable):
        mart.build().rows("countries", "SELECT nothing FROM nowhere")
    assert check_readable(mart) == published.after
    mart.close()


def test_a_build_that_fails_half_way_is_never_seen(published: Published) -> None:
    assert "json" in published.failure.lower()
    assert published.seen == ([published.before], published.before)
    assert published.after > published.before
