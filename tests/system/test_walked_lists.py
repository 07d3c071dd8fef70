"""Every list read page by page is the list as a whole, however its rows are spread over files."""

from collections.abc import Callable, Iterator
from contextlib import closing
from random import Random

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
