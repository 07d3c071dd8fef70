"""The starter world has documents as their publisher gave them, and no name of a person."""

import csv
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assets.ingest.land import fetch_sample
from assets.ingest.sources import source_of
from pipelines.sample_world import ARCHIVES, unpack_world
from quality.person_beside_firm import is_personal_name
from quality.persons import personal_name_rule
from tests.helpers.paths import ROOT
from tests.sample_world.starter import MANIFEST, documents
from warehouse.names.reading import fold, read_words
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import Settings, read_settings

MOST_BYTES = 8_000_000
# Days, accession numbers, frames, forms and periods: what is no text.
CODE = re.compile(r"[\d-]*|CY\d{4}(Q\d)?I?|FY|[QH]\d|\d{1,2}-[FKQ](/A)?")
# Words that begin with a capital, at least two.
TITLED = re.compile(r"[A-Z][\w.'’-]*(?:\s+[A-Z][\w.'’-]*)+")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("starter")
    unpack_world(folder)
    return folder


@pytest.fixture(scope="module")
def manifest() -> list[dict[str, str]]:
    with MANIFEST.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_every_document_is_in_the_manifest_with_its_bytes_address_day_and_licence(
    unpacked: Path, manifest: list[dict[str, str]]
) -> None:
    settings: Settings = read_settings({})
    landed = {}
    for key in {row["source"] for row in manifest}:
        source = source_of(settings, key)
        for response in fetch_sample(unpacked, source):
            day, body = response.observed_at.date().isoformat(), response.body
            assert not isinstance(body, bytes) and response.world == "starter"
            terms = source.license_name, source.license_url
            landed[response.url] = (day, hashlib.sha256(body.read()).hexdigest(), *terms)
    told = ("observed_at", "sha256", "licence", "licence_url")
    assert landed == {row["url"]: tuple(row[name] for name in told) for row in manifest}
    files = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*.json")}
    assert files == {row["path"] for row in manifest} | {"world.json"}
    assert ARCHIVES["starter"].stat().st_size < MOST_BYTES


def test_the_notice_of_the_package_names_source_and_licence(manifest: list[dict[str, str]]) -> None:
    notice = (ROOT / "NOTICE").read_text("utf-8")
    for row in manifest:
        assert all(row[name] in notice for name in ("attribution", "licence", "licence_url"))


@pytest.mark.shared
def test_the_documents_are_byte_for_byte_those_of_the_publisher(unpacked: Path) -> None:
    (folder,) = (unpacked / "sec-companyfacts").iterdir()
    for path, body in documents():
        assert (folder / path).read_bytes() == body, path


def test_no_document_has_the_name_of_a_person(unpacked: Path) -> None:
    """Issuers are organisations, and descriptions of elements have words of the trade alone."""
    suspected = []
    for path in unpacked.rglob("CIK*.json"):
        for member, text in set(texts("", json.loads(path.read_bytes()))):
            if member == "entityName":
                is_named = personal_name_rule(text, None, is_listed=True) is not None
            elif member in ("label", "description"):
                is_named = any(map(names_person, TITLED.findall(text)))
            else:
                is_named = CODE.fullmatch(text) is None
            suspected += [(path.name, member, text)] if is_named else []
    assert suspected == []


def test_a_name_in_a_description_would_be_found() -> None:
    assert names_person("Approved By John Smith Today")
    assert not names_person("Cash And Cash Equivalents")


def texts(member: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield every text of a document with the name of its member."""
    if isinstance(value, str):
        yield member, value
        return
    if isinstance(value, list):
        pairs = [(member, each) for each in value]
    else:
        pairs = list(value.items()) if isinstance(value, dict) else []
    for name, each in pairs:
        yield from texts(name, each)


def names_person(words: str) -> bool:
    """Return whether two to four of these words in a row may be a person's full name."""
    split = words.split()
    return any(
        is_personal_name(read_words(fold(" ".join(split[first : first + number]))), None)
        for number in (2, 3, 4)
        for first in range(len(split) - number + 1)
    )


def test_a_folder_of_another_world_is_not_taken_for_it(unpacked: Path) -> None:
    with pytest.raises(SankofaError, match="has the starter world: set SANKOFA_HOME"):
        unpack_world(unpacked, "fictional")
