"""Every list read page by page is the list as a whole, however its rows are spread over files."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from random import Random
from typing import Any

import pytest

from tests.helpers.every_list import ASKED, LISTS, REQUESTS, walked, whole
from tests.helpers.nightly import is_nightly, times
from tests.helpers.seed import seed_of_this_run
from tests.helpers.split_world import publish_split
from warehouse.serve.build import Mart

# A file has so many times fewer rows than it may have: one row, a few, or all.
SMALLER = (4096, 1024, 256, 1)
WORLDS = range(times(1))


@pytest.fixture(scope="module", params=WORLDS)
def world(
    request: pytest.FixtureRequest,
    new_marts: Callable[[], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Mart, Random]]:
    """Publish a random world in files of a random size."""
    random = Random(seed_of_this_run() + request.param)
    smaller = SMALLER[0] if request.param == 0 else random.choice(SMALLER)
    root = tmp_path_factory.mktemp("walked")
    with closing(publish_split(root, new_marts(), 1 / smaller, random.randrange(10**6))) as mart:
        yield mart, random


def test_every_list_is_asked_for() -> None:
    assert set(ASKED) == set(LISTS)


@pytest.mark.parametrize(("name", "url"), REQUESTS)
def test_pages_of_any_size_are_the_whole_list(
    name: str, url: str, world: tuple[Mart, Random]
) -> None:
    mart, random = world
    mart = mart.at(mart.build().data_version)
    rows = whole(name, url, mart)
    assert rows
    every_size = ([1], [7], [1_000], random.choices(range(1, 9), k=5))
    for sizes in every_size if is_nightly() else every_size[-1:]:
        pages = list(walked(name, url, mart, sizes))
        met = [bytes(row) for page in pages for row in page.rows]
        assert met == rows, sizes
        # Only the last page says that there are no more rows, and no page is empty.
        assert [page.truncated for page in pages] == [True] * (len(pages) - 1) + [False]
        assert all(len(page.rows) for page in pages)


NEWEST = "publication=newest"


@pytest.mark.parametrize("country", ["ZA", "KE"])
@pytest.mark.parametrize("day", ["", "&as_of=2018-06-30", "&as_of=2018-12-31", "&as_of=2021-06-01"])
def test_each_process_is_listed_once_as_its_newest_release_that_was_known(
    country: str, day: str, world: tuple[Mart, Random]
) -> None:
    mart, random = world
    url = f"/v1/tenders?country={country}{day}"
    newest: dict[str, dict[str, Any]] = {}
    for row in map(json.loads, whole("listTenders", url, mart)):
        newest.setdefault(row["ocid"], row)
    filters: dict[str, Callable[[dict[str, Any]], bool]] = {
        "": lambda row: True,
        "&status=active": lambda row: row["country"] == "KE" and row["release_id"] == "r1",
        "&category=works": lambda row: row["category"] == "works",
        "&to=2018-04-30": lambda row: (row["date"] or "9999") <= "2018-04-30",
        "&order=value": lambda row: True,
    }
    for more, matches in filters.items():
        pages = walked(
            "listTenders", f"{url}&{NEWEST}{more}", mart, random.choices(range(1, 5), k=3)
        )
        listed = [json.loads(bytes(row)) for page in pages for row in page.rows]
        expected = [row for row in newest.values() if matches(row)]
        if more == "&order=value":
            listed, expected = (sorted(rows, key=str) for rows in (listed, expected))
        assert listed == expected, more
    for ocid, row in list(newest.items())[:3]:
        of_process = f"/v1/tenders/{ocid}?{NEWEST}{day}"
        assert [json.loads(each) for each in whole("getTender", of_process, mart)] == [row]
