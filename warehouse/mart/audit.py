"""What no served row may lack. One row that does stops the whole publication."""

from warehouse.errors import SankofaError
from warehouse.mart.shapes import Row
from warehouse.record.tables import TENDER_PARTIES
from warehouse.tables import LICENSE_CLASSES

_SERVED = frozenset(LICENSE_CLASSES) - {"restricted"}


class PublishRefused(SankofaError):
    """A row that may not be served would have been; nothing was published."""


def audit(table: str, row: Row) -> None:
    """Refuse a row without its source or a licence to serve it, or a party unestablished."""
    place = row["source_ref"]
    if not place:
        raise PublishRefused(f"{table}: a row has no source_ref; nothing was published")
    if row["license_class"] not in _SERVED:
        raise PublishRefused(
            f"{table}: {place} has license_class {row['license_class']!r}, under which it may "
            "not be served; nothing was published"
        )
    if table == TENDER_PARTIES.name and not row["org_evidence"]:
        raise PublishRefused(
            f"{table}: {place} names a party without evidence that it is an organisation; "
            "nothing was published"
        )
