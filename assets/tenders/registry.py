"""The data registry of the Open Contracting Partnership: its publishers, and an entry for each.

The registry re-publishes the releases of most portals as files by year. Its list of publications
states no licence; the page of each publication does.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assets.fetching.client import Client, FetchError
from assets.fetching.fetchers import response_json
from assets.tenders.portal_files import license_of
from warehouse.shared.countries import country_code
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import Settings

KEY = "registry"
URL = "https://data.open-contracting.org"
# Where its downloads redirect to.
_FILES_HOST = "fastly.data.open-contracting.org"
_LIST = "/en/publications.json"
_PAGE = "/en/publication/{}"
_JSON_LD = re.compile(
    r"<script[^>]*application/ld\+json[^>]*>(.*?)</script>", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True)
class Publication:
    """One publication of the registry, as its list describes it."""

    id: str
    title: str
    country: str
    source_id: str
    date_from: str
    date_to: str
    last_retrieved: str
    region: str = ""
    update_frequency: str = ""
    source_url: str = ""
    frozen: bool = False

    @property
    def country_code(self) -> str | None:
        """The ISO 3166 code of the country; None if its name is not recognised."""
        return country_code(self.country)


def registry_url(settings: Settings) -> str:
    """Return the URL of the registry; ``SANKOFA_BASE_REGISTRY`` overrides it."""
    return settings.source_urls.get(KEY, URL)


def read_publications(settings: Settings, recording: Path | None = None) -> list[Publication]:
    """Return all publications: from the registry, or from a saved copy of its list."""
    if recording is not None:
        try:
            listed = json.loads(recording.read_bytes())
        except (ValueError, RecursionError) as error:
            words = f"not JSON ({error}); save {URL}{_LIST} again"
            raise SankofaError(f"{recording}: {words}") from None
        return list(_publications(listed, str(recording)))
    url = registry_url(settings) + _LIST
    with Client(settings.contact, settings.turns) as client:
        return list(_publications(response_json(client.get(url, "json")), url))


def read_licence(settings: Settings, publication_id: str) -> str | None:
    """Return the licence on the page of a publication; None if the page cannot be read."""
    with Client(settings.contact, settings.turns) as client:
        try:
            page = client.get(registry_url(settings) + _PAGE.format(publication_id))
        except FetchError:
            return None
    return licence_in(page.body.decode("utf-8", "replace"))


def matching(
    publications: Iterable[Publication], country: str | None, words: str | None
) -> list[Publication]:
    """Return the publications of a country that contain every word, in any case."""
    wanted, found = (words or "").casefold().split(), []
    for each in publications:
        is_named = country is None or country.casefold() == each.country.casefold()
        is_coded = country and len(country) == 2 and each.country_code == country.upper()
        searched = f"{each.title} {each.country} {each.source_id}".casefold()
        if (is_named or is_coded) and all(word in searched for word in wanted):
            found.append(each)
    return found


def licence_in(page: str) -> str | None:
    """Return the member ``license`` of the JSON-LD in a page."""
    for block in _JSON_LD.findall(page):
        try:
            described = json.loads(block)
        except (ValueError, RecursionError):
            continue
        for item in described if isinstance(described, list) else [described]:
            licence = item.get("license") if isinstance(item, dict) else None
            if isinstance(licence, dict):
                licence = licence.get("url") or licence.get("name")
            if isinstance(licence, str) and licence.strip():
                return licence.strip()
    return None


def portal_entry(publication: Publication, licence: str | None) -> str:
    """Return the entry of a publication for a file of portals, ready to save."""
    code = publication.country_code
    license_class = license_of(licence) if licence else None
    key = re.sub(r"[^a-z0-9]+", "-", publication.source_id.lower()).strip("-")
    name = licence or "Not found on the page of the publication"
    span = f"{publication.date_from or 'unknown'} to {publication.date_to or 'unknown'}"
    note = f"Publication {publication.id} of the data registry; releases of {span}."
    lines = [
        f"[{code.lower() + '-' if code else ''}registry-{key or publication.id}]",
        f"country = {_quoted(code or '')}" + ("" if code else "  # its ISO 3166 code"),
        f"title = {_quoted(publication.title)}",
        f"base_url = {_quoted(URL)}",
        f"hosts = [{_quoted(_FILES_HOST)}]",
        f"notes = {_quoted(note)}",
        "",
        "licence.class = "
        + (
            _quoted(license_class)
            if license_class
            else '"per-package"  # not recognised: see docs/add-a-portal.md'
        ),
        f"licence.name = {_quoted(name)}",
        # Whichever mirror is asked.
        f"licence.stated_at = {_quoted(URL + _PAGE.format(publication.id))}",
        "",
        'request.shape = "files"',
        f'request.address = "/en/publication/{publication.id}/download?name={{year}}.jsonl.gz"',
        f'request.whole = "/en/publication/{publication.id}/download?name=full.jsonl.gz"',
        'request.period = "year"',
        'request.format = "gzip"',
        "request.ends_on = [404]",
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    # A JSON string is a TOML basic string, as long as it escapes no slash and no surrogate.
    return json.dumps(text, ensure_ascii=False)


def _publications(listed: Any, address: str) -> Iterator[Publication]:
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise SankofaError(f"{address}: not a list of publications; report it")
    for item in listed:
        if item.get("id") is None:
            raise SankofaError(f"{address}: a publication without an id; report it")
        texts: dict[str, Any] = {
            name: "" if item.get(name) is None else " ".join(str(item[name]).split())
            for name in Publication.__dataclass_fields__.keys() - {"id", "frozen"}
        }
        yield Publication(id=str(item["id"]), frozen=item.get("frozen") is True, **texts)
