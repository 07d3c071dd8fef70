"""Why a list is empty: what became public after ``as_of`` is told by no reason."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tests.helpers.every_list import LISTS, question
from tests.helpers.nightly import times
from tests.helpers.random_world import publish_world
from tests.helpers.record_rows import load, party_row, release_row, series_row
from tests.helpers.seed import seed_of_this_run
from tests.helpers.split_world import more_countries_and_sources, more_derived
from warehouse.contract.problems import Problem
from warehouse.publish.snapshot import Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES, TENDER_PARTIES, TENDER_RELEASES
from warehouse.serve.build import Mart

UNTIL, LATER = date(2019, 6, 1), date(2021, 3, 1)
# From when, and until when, rows of a derived table are an answer.
_INTERVALS = {
    "metrics": ("answers_from", "answers_until"),
    "metrics_absent": ("holds_from", "holds_until"),
    "signals": ("available_at", "superseded_at"),
}


def derived_until(snapshot: Snapshot) -> dict[str, pa.Table]:
    """Return what was derived by a day: later rows, and that they follow, were not known."""
    tables = more_derived(snapshot)
    for name, (begin, end) in _INTERVALS.items():
        rows = [row for row in tables[name].to_pylist() if row[begin] <= UNTIL]
        for row in rows:
            row[end] = None if row[end] is None or row[end] > UNTIL else row[end]
        tables[name] = pa.Table.from_pylist(rows, tables[name].schema)
    return tables


def load_later(root: Path) -> None:
    """Load a country, a category, a role and a series that were not known before."""
    record, late = Record(str(root)), {"available_at": LATER}
    release = {"country": "GH", "category": "services", "tender_status": "active"}
    load(record, TENDER_RELEASES, release_row(1, ocid="gh-1", **release, **late))
    load(record, TENDER_PARTIES, party_row(ocid="gh-1", country="GH", role="tenderer", **late))
    load(record, MACRO_SERIES, series_row("1", LATER, series="FX.EUR.GHS", country="GH", **late))


@pytest.fixture(scope="module")
def two(
    new_marts: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Mart, Mart]]:
    """Return the world as far as it was public on a day, and all of it."""
    marts, root, seed = new_marts(), tmp_path_factory.mktemp("reasons"), seed_of_this_run()
    more_countries_and_sources(root / "record")
    before = publish_world(root / "record", marts, seed, UNTIL, derived_until)
    load_later(root / "record")
    after = publish_world(root / "record", marts, seed, None, more_derived)
    with closing(Mart(marts)) as mart:
        yield mart.at(before), mart.at(after)


VALUES: dict[str, tuple[str, ...]] = {
    "country": ("ZA", "KE", "GH", "GHA", "BR"),
    "series": ("FX.EUR.GHS", "FX.EUR.GH", "LONG", "NONE"),
    "category": ("services", "service", "works", "none"),
    "status": ("active", "activ"),
    "role": ("tenderer", "buyer", "payer"),
    "measure": ("FX.EUR.GHS", "tender_value", "category_share_count", "none"),
    "entity_id": ("DCA1", "GHA", "ZAF"),
    "dataset": ("AF-TENDER", "AF-MACRO"),
    "from": ("2018-01-01", "2020-01-01"),
    "to": ("2018-02-01", "2017-01-01"),
    "buyer": ("agency",),
    "query": ("roads", "none"),
    "series_type": ("fx", "cpi"),
    "frequency": ("daily", "monthly"),
    "metric": ("net_margin", "gross_margin"),
    "order": ("asc",),
    "dimension": ("category", "all"),
    "dimension_value": ("works", "none"),
    "line_items": ("revenue", "cfo"),
    "statement": ("income",),
    "period_type": ("FY", "H1"),
    "vintages": ("all", "as_reported"),
    "service_id": ("DCA1", "DCX9", "DCNOBODY"),
    "service_ids": ("DCA1,DCB2", "DCNOBODY"),
    "signal_key": ("single-bid-rate", "award-concentration"),
    "ocid": ("ocds-0003", "gh-1"),
}
WITH_AS_OF = [name for name, endpoint in LISTS.items() if "as_of" in endpoint.query]


def drawn(name: str, random: Random) -> str:
    """Return a request of a list on a day on which little was public."""
    endpoint = LISTS[name]
    path = endpoint.path
    for key in endpoint.in_path:
        path = path.replace(f"{{{key}}}", random.choice(VALUES[key]))
    chosen = {
        key: random.choice(VALUES[key])
        for key, parameter in endpoint.query.items()
        if key in VALUES and (parameter.required or random.random() < 0.35)
    }
    day = date(2017, 12, 1) + timedelta(random.randrange((UNTIL - date(2017, 12, 1)).days))
    chosen["as_of"] = day.isoformat()
    return f"{path}?{'&'.join(f'{key}={value}' for key, value in chosen.items())}"


def answered(name: str, url: str, mart: Mart) -> Any:
    """Return the rows and the reason of a request, or the code of its refusal."""
    try:
        listing, wanted = question(name, url, mart)
        rows = [bytes(row) for row in listing.read(wanted).rows.rows]
        return rows, None if rows else listing.why_empty(wanted)
    except Problem as error:
        return error.code


@pytest.mark.parametrize("name", WITH_AS_OF)
def test_what_becomes_public_later_changes_no_reason_but_that_something_did(
    name: str, two: tuple[Mart, Mart]
) -> None:
    before, after = two
    random, compared, later = Random(seed_of_this_run()), 0, 0
    for _ in range(times(40)):
        url = drawn(name, random)
        then, now = (answered(name, url, mart) for mart in (before, after))
        if then == now:
            compared += not isinstance(then, str) and then[1] is not None
            continue
        # An id that no one had is not found; once somebody has it, it was not known then.
        assert then == "not_found" or (not isinstance(then, str) and then[0] == now[0] == []), url
        assert now[1].code == "not_known_then", (url, then, now)
        told = f"{now[1].detail}{now[1].nearest}{now[1].held}"
        assert not {"GHS", "services", "tenderer", "2021"} & set(told.replace("'", " ").split())
        # The span that was known then may be told: it is the same, whatever came later.
        span_then = None if isinstance(then, str) else then[1].held
        assert now[1].nearest == () and now[1].held in (None, span_then)
        later += 1
    assert compared + later
