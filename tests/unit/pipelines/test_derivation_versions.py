"""Changed code of metrics, signals, files, guides or what is withheld is published by itself."""

from pathlib import Path

import pytest

from pipelines import stages
from tests.helpers.checkout_copy import copy_packages
from warehouse.shared.code_version import code_version


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the packages, to change; versions are made from it."""
    copy_packages(tmp_path, monkeypatch)
    return tmp_path


def versions() -> dict[str, str]:
    """Return the version of each derivation by name, as the next command would compute it."""
    code_version.cache_clear()
    made = stages.derivations.__wrapped__()
    return dict(derivation.version.split(" ", 1) for derivation in made)


ALL = {
    *("joins", "entities", "metrics-v1", "derived_figures", "signals-v1", "silent_revisions"),
    *("files", "metrics-ttm", "sessions"),
}
CHANGES = (
    ("assets/derive/metrics.py", {"metrics-v1"}, {"metrics-v1", "metrics-ttm"}),
    ("assets/derive/metrics_ttm.py", {"metrics-ttm"}, {"metrics-ttm"}),
    ("assets/derive/derived_figures.py", {"derived_figures"}, {"derived_figures"}),
    ("assets/derive/sessions.py", {"sessions"}, {"sessions"}),
    ("assets/derive/signals.py", {"signals-v1"}, {"signals-v1"}),
    ("assets/derive/silent_revisions.py", {"silent_revisions"}, {"silent_revisions"}),
    ("assets/derive/organisations.py", {"joins", "entities"}, {"joins", "entities"}),
    ("assets/page_data.py", {"files"}, {"files"}),
    ("assets/exports/write_artifact.py", {"files"}, {"files"}),
    ("warehouse/publish/withheld.py", {"files"}, {"files"}),
    ("warehouse/publish/redacted_rows.py", {"files"}, {"files"}),
    ("warehouse/names/redaction.py", {"files"}, {"files"}),
    ("warehouse/names/reading.py", {"files"}, ALL),
    ("warehouse/methodology/metrics.py", {"metrics-v1"}, ALL),
)


@pytest.mark.slow
def test_a_change_takes_effect_in_what_is_made_from_it(checkout: Path) -> None:
    before = versions()
    # What the guides say is compared as a whole, whichever code declares it.
    assert set(before) == {*ALL, "guides"}
    for path, least, most in CHANGES:
        with (checkout / path).open("a") as file:
            file.write("\nCHANGED = True\n")
        after = versions()
        assert least <= {name for name in ALL if before[name] != after[name]} <= most, path
        before = after
