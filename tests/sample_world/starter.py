"""Write archive and manifest of the starter world: ``python -m tests.sample_world.starter``.

Its documents are those of ``real/starter``, as the SEC published them on one day.
"""

import csv
import gzip
import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pipelines.sample_world import ARCHIVES
from tests.helpers.paths import REAL
from tests.sample_world.__main__ import write_archive

MANIFEST = ARCHIVES["starter"].with_suffix(".csv")
DAY, SOURCE, BASE = "2021-07-24", "sec-companyfacts", "https://data.sec.gov"
_LICENCE = {
    "licence": "United States government work, public domain",
    "licence_url": "https://www.sec.gov/about/privacy-information",
    "attribution": "U.S. Securities and Exchange Commission, EDGAR",
}


def documents() -> Iterator[tuple[str, bytes]]:
    """Yield each document with its path at the source."""
    for file in sorted((REAL / "starter" / "companyfacts_2021").glob("*.json.gz")):
        name = file.name.removesuffix(".gz")
        yield f"api/xbrl/companyfacts/{name}", gzip.decompress(file.read_bytes())


def main() -> None:
    """Write both files."""
    rows, records = [], 0
    with tempfile.TemporaryDirectory() as name:
        for path, body in documents():
            member = Path(SOURCE, DAY, path)
            file = Path(name, member)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(body)
            facts = json.loads(body)
            records += sum(
                len(stated)
                for elements in facts["facts"].values()
                for element in elements.values()
                for stated in element["units"].values()
            )
            rows.append(
                {
                    "path": member.as_posix(),
                    "issuer": facts["entityName"],
                    "url": f"{BASE}/{path}",
                    "observed_at": DAY,
                    "source": SOURCE,
                    "sha256": hashlib.sha256(body).hexdigest(),
                    **_LICENCE,
                }
            )
        counts = {f"{SOURCE}.files": len(rows), f"{SOURCE}.records": records}
        world = {"counts": counts, "day": DAY, "world": "starter"}
        Path(name, "world.json").write_text(json.dumps(world, indent=1) + "\n", "utf-8")
        write_archive(ARCHIVES["starter"], Path(name))
    with MANIFEST.open("w", encoding="utf-8", newline="") as manifest:
        writer = csv.DictWriter(manifest, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
