"""Packages of a portal in the folder of the sample world, for homes of a few documents."""

import json
from pathlib import Path
from typing import Any

from assets.ingest.sources import SOURCES
from tests.helpers.withheld_key import WITHHELD_KEY
from warehouse.shared.settings import Settings

(ZA,) = [
    source.with_withheld_key(WITHHELD_KEY) for source in SOURCES if source.key == "za-etenders"
]


def award_release(number: int, supplier: str) -> dict[str, Any]:
    """Return a release with one award to one supplier."""
    return {
        "ocid": f"ocds-9t57fa-{number}",
        "id": f"{number}-award",
        "date": "2026-05-02T00:00:00Z",
        "tag": ["award"],
        "language": "en",
        "initiationType": "tender",
        "tender": {"id": str(number), "title": f"Works {number}", "status": "complete"},
        "buyer": {"id": "1", "name": "Department of Fictional Works"},
        "awards": [
            {
                "id": "1",
                "status": "active",
                "date": "2026-05-01T00:00:00Z",
                "value": {"amount": 100.5, "currency": "ZAR"},
                "suppliers": [{"id": f"s{number}", "name": supplier}],
            }
        ],
    }


def write_package(settings: Settings, day: str, name: str, *releases: dict[str, Any]) -> Path:
    """Write a package of releases as the portal showed it on a day."""
    path = settings.sample / ZA.key / day / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"releases": releases}))
    return path
