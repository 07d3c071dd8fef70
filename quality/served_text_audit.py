"""Audit the text that would be served: no contact may be left in a release.

Candidates are selected in SQL and then judged by the same code that removes contacts: only what
it would have removed stops a build.
"""

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from quality.contact_in_name import has_contact
from quality.free_text import remove_contacts
from warehouse.mart.snapshot import Snapshot

# Members that no served release has.
_FORBIDDEN_MEMBERS = ("contactPoint", "telephone", "faxNumber", "email", "legalName")
_CANDIDATES = (
    r"@|(?i)\b(tel|phone|telephone|cell|mobile|fax|whatsapp)\b.{0,12}\d"
    r"|contact person|enquir|" + "|".join(f'"{member}"' for member in _FORBIDDEN_MEMBERS)
)
_BATCH_ROWS = 10_000


def find_contacts(snapshot: Snapshot) -> None:
    """Create ``releases_with_contact``: the row ids of releases in which a contact is left."""
    pattern = _CANDIDATES.replace("'", "''")
    candidates = snapshot.read(
        f"SELECT row_id, release FROM tender_releases "
        f"WHERE release IS NOT NULL AND regexp_matches(release, '{pattern}')"
    )
    row_ids = [
        row["row_id"]
        for batch in candidates.to_batches(_BATCH_ROWS)
        for row in batch.to_pylist()
        if release_has_contact(json.loads(row["release"]))
    ]
    snapshot.sql.register("contact_rows", pa.table({"row_id": pa.array(row_ids, pa.string())}))
    snapshot.sql.execute("CREATE OR REPLACE TABLE releases_with_contact AS FROM contact_rows")
    snapshot.sql.unregister("contact_rows")


def release_has_contact(release: Any) -> bool:
    """Return whether any text in a release contains something that would be removed."""
    return any(_is_contact(name, text) for name, text in _texts("", release))


def _is_contact(name: str, text: str) -> bool:
    if name in _FORBIDDEN_MEMBERS:
        return True
    if name == "name":
        return has_contact(text)
    # Ids and dates are not free text and never cleaned.
    is_free_text = name != "id" and not name.lower().endswith("date")
    return is_free_text and remove_contacts(text) != text


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield every text in a JSON value with the name of its member."""
    if isinstance(value, dict):
        for key, member in value.items():
            if key in _FORBIDDEN_MEMBERS:
                yield key, ""
            # The name of a unit is free text, that of an organisation is not.
            yield from _texts("unit" if (name, key) == ("unit", "name") else key, member)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(name, item)
    elif isinstance(value, str):
        yield name, value
