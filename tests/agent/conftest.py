"""One server over the published sample world for all questions."""

from collections.abc import Iterator

import pytest

from tests.agent.asked import Asked, asked_world
from tests.helpers.installation import sample_home
from tests.helpers.made_once import copy_of


@pytest.fixture(scope="session")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    home = copy_of(sample_home(tmp_path_factory), "asked", tmp_path_factory)
    with asked_world(home) as world:
        yield world
