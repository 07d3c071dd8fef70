"""A manifest: a table that says of each recorded file where and when it was read.

It is a CSV or TSV file with a header line, or a JSON array of objects. Columns:

* ``path``: the file, relative to the manifest;
* ``url``: its address at the publisher, and ``observed_at``: the day or moment it was read there;
  both are empty for a WARC file, which states them itself;
* ``source``: the key of its source, unless the command names one (optional);
* ``headers``: a JSON object of response headers that its parser needs (optional);
* ``sha256``: the checksum of the file, or its first 12 characters or more (optional).

Other columns are ignored.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assets.ingest.recorded_files import read_headers
from assets.ingest.recordings import Origin, observed_at
from warehouse.errors import SankofaError

_REQUIRED = ("path", "url", "observed_at")
_SHORTEST_DIGEST = 12


@dataclass(frozen=True)
class ManifestEntry:
    """One recorded file, with the key of its source if the manifest names it."""

    path: Path
    source: str | None
    origin: Origin | None
    sha256: str = ""

    def verify(self) -> None:
        """Raise SankofaError if the file is not the one that the manifest describes."""
        if not self.sha256:
            return
        with self.path.open("rb") as body:
            digest = hashlib.file_digest(body, "sha256").hexdigest()
        if not digest.startswith(self.sha256):
            raise SankofaError(f"its SHA-256 is {digest}, and the manifest says {self.sha256}")


def read_manifest(file: Path) -> list[ManifestEntry]:
    """Read a manifest; raise SankofaError that names the file and the line for a bad one."""
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SankofaError(f"{file}: the manifest cannot be read ({words})") from None
    entries = []
    for where, row in _rows(file, text):
        try:
            entries.append(_entry(file.parent, row))
        except SankofaError as error:
            raise SankofaError(f"{file}, {where}: {error}") from None
    if not entries:
        raise SankofaError(f"{file}: the manifest names no files")
    return entries


def _rows(file: Path, text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if text.lstrip().startswith("["):
        try:
            rows = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SankofaError(f"{file}: the manifest is not JSON ({error})") from None
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict):
                raise SankofaError(f"{file}, entry {number}: write a JSON object")
            yield f"entry {number}", row
        return
    first_line = text.partition("\n")[0]
    lines = csv.DictReader(io.StringIO(text), delimiter="\t" if "\t" in first_line else ",")
    missing = [name for name in _REQUIRED if name not in (lines.fieldnames or ())]
    if missing:
        raise SankofaError(
            f"{file}: the manifest has no column {', '.join(missing)}; it needs "
            f"{', '.join(_REQUIRED)}"
        )
    for row in lines:
        yield f"line {lines.line_num}", row


def _entry(folder: Path, row: Mapping[str, Any]) -> ManifestEntry:
    path, url, moment = (_cell(row, name) for name in _REQUIRED)
    digest = _cell(row, "sha256").lower()
    if not path:
        raise SankofaError("it names no path")
    # Who writes an absolute path means it; a manifest that came with its files must stay with them.
    is_outside = not (folder / path).resolve().is_relative_to(folder.resolve())
    if is_outside and not Path(path).is_absolute():
        raise SankofaError(
            f"{path} leads out of the folder of the manifest; copy it there, or write where it is "
            "from the root on"
        )
    if bool(url) != bool(moment):
        raise SankofaError(f"{path} needs both url and observed_at; a WARC file neither")
    if digest and len(digest) < _SHORTEST_DIGEST:
        raise SankofaError(f"{path}: give at least {_SHORTEST_DIGEST} characters of its SHA-256")
    origin = None
    if url:
        headers = read_headers(_headers(row), f"the headers of {path}")
        origin = Origin(url, observed_at(moment), url.endswith("/"), headers)
    return ManifestEntry(folder / path, _cell(row, "source") or None, origin, digest)


def _cell(row: Mapping[str, Any], name: str) -> str:
    return str(row.get(name) or "").strip()


def _headers(row: Mapping[str, Any]) -> bytes | None:
    headers = row.get("headers")
    text = headers if isinstance(headers, str) else json.dumps(headers) if headers else ""
    return text.encode() or None
