"""Fetch a portal as its entry says: by links, an index or files.

URLs are landed as requested, so that fetching one again shows what was edited.
"""

from collections.abc import Iterator

from assets.fetching.client import FetchError
from assets.fetching.fetchers import FetchTask
from assets.tenders.portal_files import PortalEntry
from assets.tenders.requests import files, index, links
from assets.tenders.requests.asking import Publisher
from assets.tenders.requests.declared import Index, Links
from warehouse.record.landing import FetchedResponse
from warehouse.settings import variable_of


def fetch_portal(entry: PortalEntry, task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the window of a portal."""
    request = entry.request
    assert request is not None
    publisher = Publisher(
        entry.since,
        entry.quirks.complete_addresses,
        task.settings.publications.get(task.source, entry.publication),
    )
    if "publication" in request.placeholders() and not publisher.publication:
        raise FetchError(
            f"{task.source}: which publication of the registry it is, is not set: set "
            f"{variable_of('SANKOFA_PUBLICATION_', task.source)} to its number at "
            "https://data.open-contracting.org"
        )
    if isinstance(request, Links):
        return links.fetch(request, publisher, task)
    if isinstance(request, Index):
        return index.fetch(request, publisher, task)
    return files.fetch(request, publisher, task)
