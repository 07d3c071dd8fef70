"""The real files next to the checkout as recordings: where and when each of them was read.

``python -m tests.helpers.real_recordings FOLDER`` writes a manifest of all that are of a known
format, and the portals that they need in addition to the built-in ones. Then:

    SANKOFA_PORTALS=FOLDER/portals.toml sankofa ingest --manifest FOLDER/manifest.tsv

Exchange lists whose licence is not cleared are in a manifest of their own, with a file that clears
them for a try on one's own machine:

    SANKOFA_EXCHANGE_LISTS=FOLDER/lists.toml sankofa ingest --manifest FOLDER/lists.tsv

Addresses are those that the files, or the notes next to them, state. A day is that of the fetch or
of the commit, where it is known; else the day on which the files were collected.
"""

import csv
import gzip
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from tests.helpers.paths import REAL

COLLECTED = "2026-11-14"
COLUMNS = ("path", "url", "observed_at", "source", "headers")

# Portals of the real files that are not built in. No request is sent to them.
PORTALS = {
    "mx-cdmx": ("MX", "Mexico City", "http://www.contratosabiertos.cdmx.gob.mx"),
    "mx-cdmx-finanzas": ("MX", "Mexico City, finances", "http://innovacion.finanzas.df.gob.mx"),
    "mx-apf": ("MX", "Mexico, federal administration", "https://api.datos.gob.mx"),
    "mx-gacm": ("MX", "Mexico City airport group", "https://datos.gob.mx"),
    "mx-inai": ("MX", "Mexico, INAI", "http://inicio.inai.org.mx"),
    "mx-nl": ("MX", "Mexico, Nuevo León", "http://si.nl.gob.mx"),
    "md-yipl": ("MD", "Moldova, first open contracting portal", "http://moldova-demo.yipl.com.np"),
    "ng-bpp": ("NG", "Nigeria, open contracting portal", "http://nigeriaoc.org"),
    "ug-gpp": ("UG", "Uganda, first procurement portal", "http://gpp.ppda.go.ug"),
    "ua-prozorro": ("UA", "Ukraine, Prozorro", "http://api.ocds.prozorro.openprocurement.io"),
    "ua-prozorro-files": ("UA", "Ukraine, files", "http://ocds.prozorro.openprocurement.io"),
    "pt-impic": ("PT", "Portugal, IMPIC", "http://www.base.gov.pt"),
    "co-cce": ("CO", "Colombia, API", "https://apiocds.colombiacompra.gov.co:8443"),
    "co-secop-pages": ("CO", "Colombia, SECOP", "https://www.contratos.gov.co"),
    "ec-compras": ("EC", "Ecuador, portal", "https://portal.compraspublicas.gob.ec"),
}


@dataclass(frozen=True)
class RealRecording:
    """One real file, its source, its address at the publisher, and the day it was read."""

    path: Path
    source: str
    url: str
    day: str = COLLECTED
    headers: dict[str, str] = field(default_factory=dict)


def real_recordings() -> Iterator[RealRecording]:
    """Yield every real file of a known format."""
    for pattern, describe in _FORMATS.items():
        for path in sorted(REAL.glob(pattern)):
            recording = describe(path) if path.is_file() else None
            if recording is not None:
                yield recording


def real_lists() -> Iterator[RealRecording]:
    """Yield every real exchange list."""
    for pattern, describe in _LISTS.items():
        for path in sorted(REAL.glob(pattern)):
            yield describe(path)


def write_manifest(folder: Path) -> int:
    """Write the manifests and the portals of all real files; return how many files they name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "portals.toml").write_text("".join(map(_portal, PORTALS)))
    lists = list(real_lists())
    cleared = {each.source for each in lists} - _OPEN_LISTS
    (folder / "lists.toml").write_text("".join(map(_cleared, sorted(cleared))))
    recordings = [*real_recordings(), *(each for each in lists if each.source in _OPEN_LISTS)]
    restricted = [each for each in lists if each.source not in _OPEN_LISTS]
    _write(folder / "manifest.tsv", recordings)
    _write(folder / "lists.tsv", restricted)
    return len(recordings) + len(restricted)


def _write(manifest: Path, recordings: list[RealRecording]) -> None:
    with manifest.open("w", newline="") as file:
        lines = csv.writer(file, delimiter="\t")
        lines.writerow(COLUMNS)
        for each in recordings:
            headers = json.dumps(each.headers) if each.headers else ""
            lines.writerow((each.path, each.url, each.day, each.source, headers))


def _cleared(key: str) -> str:
    return f'[{key}]\nlicence = {{ class = "licensed", name = "For a try on this machine" }}\n'


def _portal(key: str) -> str:
    country, title, base_url = PORTALS[key]
    licence = 'licence.class = "per-package"\nlicence.name = "As each package states"\n'
    return (
        f'[{key}]\ncountry = "{country}"\ntitle = "{title}"\nbase_url = "{base_url}"\n{licence}\n'
    )


def _facts(path: Path) -> RealRecording:
    cik = path.name[:13]
    url = f"https://data.sec.gov/api/xbrl/companyfacts/{cik}.json"
    day = "2021-07-24" if "2021" in path.parent.name else COLLECTED
    if "fetched_at" in _note(path):
        day = "2026-06-22"
    return RealRecording(path, "sec-companyfacts", url, day)


def _submissions(path: Path) -> RealRecording:
    return RealRecording(path, "sec-submissions", f"https://data.sec.gov/submissions/{path.name}")


def _worldbank(path: Path) -> RealRecording | None:
    # The list of countries is not an indicator.
    if path.name == "countries.json":
        return None
    country, _, code = path.stem.rpartition("_")
    query = "format=json&per_page=10000&page=1"
    url = f"https://api.worldbank.org/v2/country/{country or 'all'}/indicator/{code}?{query}"
    return RealRecording(path, "worldbank", url, "2024-04-01")


def _worldbank_vintage(path: Path) -> RealRecording:
    name, day = path.stem.split("_")
    indicator = {"gdp": "NY.GDP.MKTP.CD", "cpi": "FP.CPI.TOTL"}[name]
    # Since then the file of consumer prices holds the annual change.
    if name == "cpi" and day >= "2024":
        indicator = "FP.CPI.TOTL.ZG"
    url = f"https://raw.githubusercontent.com/datasets/{name}/{_commit(path)}/data/{name}.csv"
    return RealRecording(path, "worldbank", url, day, {"indicator": indicator, "vintage": day})


def _h10(path: Path) -> RealRecording:
    cadence, _, day = path.stem.partition("_")
    repository = "https://raw.githubusercontent.com/datasets/exchange-rates"
    url = f"{repository}/{_commit(path)}/data/{cadence}.csv"
    return RealRecording(path, "h10", url, day or COLLECTED, {"frequency": cadence})


def _ecb(path: Path) -> RealRecording:
    key = path.read_text("utf-8").splitlines()[1].partition(",")[0].partition(".")[2]
    url = f"https://data-api.ecb.europa.eu/service/data/EXR/{key}?format=csvdata"
    return RealRecording(path, "ecb", url)


def _alfred(path: Path) -> RealRecording | None:
    body = json.loads(path.read_bytes())
    if "observations" not in body:
        return None
    series, (_, url) = path.name.split("_")[0], _note(path).partition("request ")[::2]
    address = url.partition(" ")[0] if url.startswith("http") else ""
    base = "https://api.stlouisfed.org/fred/series/observations"
    frequency = {"GDP": "quarterly"}.get(series, "monthly")
    units = {"GDP": "Billions of Dollars", "CPILFESL": "Index 1982-1984=100"}.get(series, "Percent")
    return RealRecording(
        path,
        "alfred",
        address or f"{base}?series_id={series}&file_type=json",
        headers={"frequency": frequency, "units": units},
    )


def _lei(path: Path) -> RealRecording:
    kind, _, lei = path.stem.rpartition("_")
    rest = "" if kind == "single_lei_record" else f"/{kind}"
    url = f"https://api.gleif.org/api/v1/lei-records/{lei}{rest}"
    if path.stem == "multi_lei_records":
        url = "https://api.gleif.org/api/v1/lei-records"
    return RealRecording(path, "gleif-api", url)


def _golden_copy(path: Path) -> RealRecording:
    url = "https://goldencopy.gleif.org/api/v2/golden-copies/publishes/lei2/latest.json"
    return RealRecording(path, "gleif", url, "2024-05-05")


def _isins(path: Path) -> RealRecording:
    lei = path.stem.rpartition("_")[2]
    return RealRecording(path, "gleif-api", f"https://api.gleif.org/api/v1/lei-records/{lei}/isins")


# The requests, as the answers show them.
_JOBS: dict[str, list[dict[str, str]]] = {
    "isin_example": [{"idType": "ID_ISIN", "idValue": "US4592001014"}],
    "currency_mic_example": [{"idType": "TICKER", "idValue": "APC", "micCode": "XETR"}],
    "cusip_with_exchange": [{"idType": "ID_CUSIP", "idValue": "459200101", "exchCode": "US"}],
    "invalid_identifier": [{"idType": "ID_ISIN", "idValue": "US4592001014"}],
}


def _openfigi(path: Path) -> RealRecording | None:
    jobs = _JOBS.get(path.stem)
    if jobs is None:
        return None
    url = "https://api.openfigi.com/v3/mapping"
    return RealRecording(path, "openfigi", url, headers={"x-jobs": json.dumps(jobs)})


def _ocds(path: Path) -> RealRecording | None:
    """Describe a package by the address that it states, or the page of a process."""
    body = _first_value(path)
    info = body.get("packageInfo") or body
    stated = info.get("uri") or body.get("urlSECOP") or _fetched_at_another_time(path)
    url = str(stated or "").replace("http:nigeriaoc.org", "http://nigeriaoc.org")
    source = _portal_at(url)
    return None if source is None else RealRecording(path, source, url, _ocds_day(path, info))


def _fetched_at_another_time(path: Path) -> str | None:
    """Return the address of a release of Paraguay from a package of another fetch of it."""
    if not path.parent.name.startswith("py_dncp_releases"):
        return None
    for other in path.parent.parent.glob(f"py_dncp_releases*/{path.name}"):
        body = _first_value(other)
        if uri := (body.get("packageInfo") or body).get("uri"):
            return str(uri)
    return None


def _kenya(path: Path) -> RealRecording:
    return RealRecording(path, "ke-ppip", "https://tenders.go.ke/api/ocds/tenders?fy=2026-2027")


def _portal_at(url: str) -> str | None:
    host = (urlsplit(url).hostname or "").removeprefix("www.")
    bases = {key: base for key, (_, _, base) in PORTALS.items()}
    bases |= {
        "za-etenders": "https://ocds-api.etenders.gov.za",
        "py-dncp": "https://www.contrataciones.gov.py",
    }
    return next(
        (
            key
            for key, base in bases.items()
            if (urlsplit(base).hostname or "").removeprefix("www.") == host
        ),
        None,
    )


def _ocds_day(path: Path, info: dict[str, Any]) -> str:
    # What the folder says, but not before the package says it was published.
    published = str(info.get("publishedDate") or "")[:10]
    named = re.findall(r"20\d\d-\d\d-\d\d", f"{path.parent.name} {path.name}")
    day = max([*named[:1], published]) if named else COLLECTED
    return day if re.fullmatch(r"20\d\d-\d\d-\d\d", day) else COLLECTED


def _first_value(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    try:
        value = json.loads(content)
    except ValueError:
        return {}
    value = value[0] if isinstance(value, list) and value else value
    return value if isinstance(value, dict) else {}


def _commit(path: Path) -> str:
    match = re.search(r"@ ([0-9a-f]{8,40})", _note(path))
    assert match is not None, path
    return match[1]


def _note(path: Path) -> str:
    """Return the line of the notes on the real files that names a path."""
    return next((line for line in _notes() if f"`{_below_notes(path)}`" in line), "")


def _below_notes(path: Path) -> str:
    folder = REAL / "filings_macro"
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name


@cache
def _notes() -> list[str]:
    return (REAL / "filings_macro" / "MANIFEST.md").read_text("utf-8").splitlines()


def _repository_list(source: str, day: str = COLLECTED) -> Callable[[Path], RealRecording]:
    """Describe a list by its repository, which the index of the real files names."""

    def describe(path: Path) -> RealRecording:
        below = path.relative_to(REAL).as_posix()
        origin = next(line.split("\t")[3] for line in _index() if line.startswith(f"{below}\t"))
        repository, file, commit = re.match(r"(\S+) : (.+?) @ ([0-9a-f]+)", origin).groups()  # type: ignore[union-attr]
        raw = "https://raw.githubusercontent.com"
        return RealRecording(path, source, f"{raw}/{repository}/{commit}/{quote(file)}", day)

    return describe


def _published_list(source: str, url: str) -> Callable[[Path], RealRecording]:
    """Describe a list by the publisher's own address; the day is in its name."""

    def describe(path: Path) -> RealRecording:
        day = re.search(r"20\d\d-\d\d(-\d\d)?", path.name)
        named = "" if day is None else day[0] if day[1] else f"{day[0]}-28"
        return RealRecording(path, source, url, named or COLLECTED)

    return describe


@cache
def _index() -> list[str]:
    return (REAL / "_index.tsv").read_text("utf-8").splitlines()


_OPEN_LISTS = frozenset({"finance-database"})
_LISTS: dict[str, Callable[[Path], RealRecording]] = {
    "exchanges/JNB.csv": _repository_list("finance-database"),
    "exchanges/CAI.csv": _repository_list("finance-database"),
    "exchanges/nse_kenya*.csv": _repository_list("ke-nse"),
    "exchanges/gse_ghana*.csv": _repository_list("gh-gse"),
    "exchanges/brvm_equities.xlsx": _repository_list("brvm"),
    "more/identity/brvm/cours-actions-0.html": _published_list(
        "brvm", "https://www.brvm.org/en/cours-actions/0"
    ),
    "more/identity/in_nse/*.gz": _published_list(
        "in-nse", "https://nsearchives.nseindia.com/content/equities/EQUITY_L.csv"
    ),
    "more/identity/br_b3/*.gz": _published_list("br-b3", "https://arquivos.b3.com.br/"),
    "more/identity/kr_dart/*.xml": _published_list(
        "kr-dart", "https://opendart.fss.or.kr/api/corpCode.xml"
    ),
}
_FORMATS: dict[str, Callable[[Path], RealRecording | None]] = {
    "filings_macro/filings/companyfacts/*.json": _facts,
    "filings_macro/filings/companyfacts_2021/*.gz": _facts,
    "more/sec/companyfacts_2021-07/*.gz": _facts,
    "filings_macro/filings/submissions/*.json": _submissions,
    "more/sec/submissions/*.json": _submissions,
    "filings_macro/macro/worldbank/api_v2/*.json": _worldbank,
    "filings_macro/macro/worldbank/vintages/*.csv": _worldbank_vintage,
    "filings_macro/fx/fred_h10/*.csv": _h10,
    "filings_macro/fx/sdmx/*.csv": _ecb,
    "filings_macro/cpi/alfred/*.json": _alfred,
    "gleif/api/lei_records/*.json": _lei,
    "gleif/api/isins/*.json": _isins,
    "gleif/goldencopy_lei2_20240505_first320.json": _golden_copy,
    "gleif/cdf_files/*lei*data.xml": _golden_copy,
    "figi/responses/mapping/*.json": _openfigi,
    "ocds/portals/ke_ppra/*.jsonl": _kenya,
    "ocds/portals/*/*.json": _ocds,
    "more/ocds/*/*": _ocds,
}


if __name__ == "__main__":
    print(f"{write_manifest(Path(sys.argv[1])):,} files")
