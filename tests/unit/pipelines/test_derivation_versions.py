"""Changed code of metrics, signals, files, pages or what is withheld is published by itself."""

from pathlib import Path

import pytest

from assets.pages.site import PAGE_FILES
from pipelines import derivations
from tests.helpers.checkout_copy import copy_packages
from tests.helpers.paths import ROOT
from warehouse.code_version import code_version


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the packages, to change; versions are made from it."""
    copy_packages(tmp_path, monkeypatch)
    pages = [tmp_path / folder.relative_to(ROOT) for folder in PAGE_FILES]
    monkeypatch.setattr(derivations, "PAGE_FILES", tuple(pages))
    return tmp_path


def versions() -> dict[str, str]:
    """Return the version of each derivation by name, as the next command would compute it."""
    code_version.cache_clear()
    made = derivations.derivations.__wrapped__()
    return dict(derivation.version.rsplit(" ", 1) for derivation in made)


ALL = {"joins", "entities", "metrics-v1", "signals-v1", "silent_revisions", "files", "pages"}
CHANGES = (
    ("assets/metrics/values.py", {"metrics-v1"}, {"metrics-v1"}),
    ("assets/signals/rates.py", {"signals-v1"}, {"signals-v1"}),
    ("assets/silent_revisions/derive.py", {"silent_revisions"}, {"silent_revisions"}),
    ("assets/entities/resolve_parties.py", {"joins", "entities"}, {"joins", "entities"}),
    ("assets/pages/cards.py", {"pages"}, {"pages"}),
    ("assets/exports/parquet.py", {"files"}, {"files", "pages"}),
    ("warehouse/mart/withheld.py", {"files"}, {"files"}),
    ("warehouse/mart/redacted_rows.py", {"files"}, {"files"}),
    ("warehouse/names/redaction.py", {"files"}, {"files"}),
    ("warehouse/names/plain.py", {"files"}, ALL),
    ("warehouse/methodology/metrics.py", {"metrics-v1"}, ALL),
    ("warehouse/site/static/site.css", {"pages"}, {"pages"}),
    ("warehouse/site/templates/base.html", {"pages"}, {"pages"}),
)


@pytest.mark.slow
def test_a_change_takes_effect_in_what_is_made_from_it(checkout: Path) -> None:
    before = versions()
    assert set(before) == ALL
    for path, least, most in CHANGES:
        with (checkout / path).open("a") as file:
            file.write("\nCHANGED = True\n")
        after = versions()
        assert least <= {name for name in ALL if before[name] != after[name]} <= most, path
        before = after
