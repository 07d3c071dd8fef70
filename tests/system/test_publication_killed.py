"""Killed at many moments of publishing, the old build answers and the next one is whole.

``test_publication.py`` kills the command at a few moments.
"""

from pathlib import Path

import pytest

from tests.helpers.facts import fact
from tests.helpers.installation import sample_home
from tests.helpers.killed_publications import lines_of, require_whole
from tests.helpers.made_once import copy_of
from tests.helpers.publishing import publish
from tests.helpers.reads import facts_known
from tests.helpers.record_rows import load
from warehouse.publish.builds import Builds, builds_at
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.serve.build import Mart


@pytest.mark.nightly
def test_killed_at_many_moments_the_old_build_answers_and_the_next_one_is_whole(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    home = copy_of(sample_home(tmp_path_factory), "killed", tmp_path_factory)
    require_whole(home, lines_of("states", str(home), "30"), 15)


def test_killed_between_a_complete_build_and_its_switch_the_next_publication_is_whole(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marts = tmp_path / "marts"
    load(record, FUNDAMENTALS, fact())

    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(Builds, "switch", kill)
        with pytest.raises(KeyboardInterrupt):
            publish(record, marts)
    assert builds_at(marts).current() is None

    published = publish(record, marts)

    assert builds_at(marts).names() == [published] == [builds_at(marts).current()]
    known = facts_known(Mart(marts), fact()["service_id"])
    assert known is not None and len(known.rows) == 1
