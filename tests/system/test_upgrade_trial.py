"""The previous release serves while the new code publishes and takes over: no request fails."""

from pathlib import Path

import pytest

from tests.helpers.upgrade_trial import PREVIOUS_RELEASE, has_history, upgrade


@pytest.mark.timeout(1800)
@pytest.mark.nightly
@pytest.mark.skipif(not has_history(), reason=f"the repository has no commit {PREVIOUS_RELEASE}")
def test_an_upgrade_fails_no_request_and_keeps_pins_files_and_pages(tmp_path: Path) -> None:
    outcome = upgrade(tmp_path)
    for server in outcome.servers:
        assert server.failures == [] and server.answers
    # Old servers answer from builds of the old code only, new ones from any.
    old, new = outcome.builds[0::2], outcome.builds[1::2]
    for server in outcome.servers:
        allowed = set(old) if server.name.startswith("old") else {*old, *new}
        assert set(server.answers) <= allowed
    assert set(outcome.held) <= set(outcome.exported) and set(outcome.held) <= set(outcome.paged)
