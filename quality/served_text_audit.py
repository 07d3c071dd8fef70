"""The last look at free text: no contact may be left in what is served of a release.

What may be one is found in SQL, and then read as the cleaning itself reads it: a build is
stopped only by what the cleaning would have cut.
"""

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from quality.contact_in_name import reaches_someone
from quality.free_text import clean
from warehouse.mart.snapshot import Snapshot

# Members that no served release has.
_MEMBERS = ("contactPoint", "telephone", "faxNumber", "email", "legalName")
_POSSIBLE = (
    r"@|(?i)\b(tel|phone|telephone|cell|mobile|fax|whatsapp)\b.{0,12}\d"
    r"|contact person|enquir|" + "|".join(f'"{each}"' for each in _MEMBERS)
)
_BATCH = 10_000


def find_contacts(snapshot: Snapshot) -> None:
    """Make ``found_contacts``: the releases in which a contact is left."""
    pattern = _POSSIBLE.replace("'", "''")
    possible = snapshot.read(
        f"SELECT row_id, release FROM tender_releases "
        f"WHERE release IS NOT NULL AND regexp_matches(release, '{pattern}')"
    )
    found = [
        row["row_id"]
        for batch in possible.to_batches(_BATCH)
        for row in batch.to_pylist()
        if holds_a_contact(json.loads(row["release"]))
    ]
    snapshot.sql.register("left_over", pa.table({"row_id": pa.array(found, pa.string())}))
    snapshot.sql.execute("CREATE OR REPLACE TABLE found_contacts AS FROM left_over")
    snapshot.sql.unregister("left_over")


def holds_a_contact(member: Any) -> bool:
    """Tell whether any text in a release is one that cleaning would cut."""
    return any(_is_contact(name, text) for name, text in _texts("", member))


def _is_contact(name: str, text: str) -> bool:
    if name in _MEMBERS:
        return True
    if name == "name":
        return reaches_someone(text)
    # An id and a date are no free text and never cleaned.
    return name != "id" and not name.lower().endswith("date") and clean(text) != text


def _texts(name: str, member: Any) -> Iterator[tuple[str, str]]:
    if isinstance(member, dict):
        for key, value in member.items():
            if key in _MEMBERS:
                yield key, ""
            # The name of a unit is free text, that of an organisation is not.
            yield from _texts("unit" if (name, key) == ("unit", "name") else key, value)
    elif isinstance(member, list):
        for value in member:
            yield from _texts(name, value)
    elif isinstance(member, str):
        yield name, member
