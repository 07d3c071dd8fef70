"""A server that answers for every source that can be fetched, in the shapes of their publishers.

Portals get one release by their own request shape; other sources get documents of the sample world,
or small ones in their format.
"""

import gzip
import json
import re
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any
from zipfile import ZipFile

from assets.ingest.sources import SOURCES
from assets.source import Source
from assets.tenders.portal_files import BUILT_IN, PortalEntry, read_portals
from assets.tenders.requests import Files, Index
from pipelines.sample_world import ARCHIVES
from tests.helpers.data_sets import data_set
from tests.helpers.replay_server import ReceivedRequest, Replay, Reply
from tests.helpers.sec_zips import zip_of
from warehouse.shared.settings import variable_of

FETCHED = {source.key: source for source in SOURCES if source.permitted and source.fetch}
PORTALS = {entry.key: entry for entry in read_portals(BUILT_IN)}
CIK, SERIES = "0009900011", "FICZAFCPIM"
# The least that each source needs to fetch only a little.
SETTINGS = {
    "SANKOFA_CIKS": CIK,
    "SANKOFA_ECB_KEYS": "M.ZAR.EUR.SP00.A",
    "SANKOFA_INDICATORS": "FP.CPI.TOTL",
    "SANKOFA_FRED_KEY": "0123456789abcdef0123456789abcdef",
    "SANKOFA_FRED_SERIES": SERIES,
    "SANKOFA_H10_CADENCES": "monthly",
    "SANKOFA_GLEIF_COUNTRIES": "MU",
    "SANKOFA_ISINS": "ZAE000018123",
    "SANKOFA_PUBLICATION_CO_SECOP": "7",
}
_LICENCE = "https://creativecommons.org/licenses/by/4.0/"
_BIS = b"""FREQ,Frequency,REF_AREA,Reference area,UNIT_MEASURE,Unit of measure,Series,2024,2025
M,Monthly,ZA,South Africa,628,"Index, 2010 = 100",M:ZA:628,180.1,185.2
"""


class EverySource(Replay):
    """Answers ``/<source>/<path>`` as the source would; some requests fail, each of them once."""

    def __init__(self) -> None:
        super().__init__()
        # The number of the request of a source that fails, and how.
        self.failures: dict[str, tuple[int, Reply]] = {}

    def settings(self) -> dict[str, str]:
        """Return the settings under which every source is this server."""
        addresses = {
            variable_of("SANKOFA_BASE_", key): f"{self.base}/{key}" for key in sorted(FETCHED)
        }
        return {**SETTINGS, **addresses}

    def received(self, key: str) -> list[ReceivedRequest]:
        """Return the requests of a source, in their order."""
        return [request for request in self.requests if request.path.startswith(f"/{key}/")]

    def reply_to(self, request: ReceivedRequest) -> Reply:
        _, key, path = request.path.split("/", 2)
        with self._lock:
            self.requests.append(request)
            number, failure = self.failures.get(key, (0, Reply()))
            if len(self.received(key)) == number:
                return failure
        path = f"/{path}"
        if key in PORTALS:
            return _Portal(PORTALS[key]).reply_to(path, request)
        return self._reply_of(FETCHED[key], path, request)

    def _reply_of(self, source: Source, path: str, request: ReceivedRequest) -> Reply:
        match source.key:
            case "sec-fsds":
                return Reply(data_set({}))
            case "bis":
                return Reply(zip_of({"series.csv": _BIS}))
            case "alfred":
                name = "observations" if path.endswith("observations") else "seriess"
                return _json(_observed() if name == "observations" else _described())
            case "h10":
                return Reply(b"Date,Country,Exchange rate\n2024-01-01,South Africa,18.8\n")
            case "gleif-api":
                return _json({"meta": {"pagination": {"lastPage": 1, "total": 0}}, "data": []})
            case "sec-tickers":
                row = [int(CIK), "Ndovu Fictional Chemicals", "NDV", "NYSE"]
                return _json({"fields": ["cik", "name", "ticker", "exchange"], "data": [row]})
            case "openfigi":
                return _json([{"warning": "No identifier found."}] * len(json.loads(request.body)))
            case "gleif" | "isin-lei" | "oc-lei":
                name, body = self._of_sample(source.key, "")
                return Reply(zip_of({name.rpartition("/")[2]: body}))
            case _:
                return Reply(self._of_sample(source.key, path)[1])

    def _of_sample(self, key: str, path: str) -> tuple[str, bytes]:
        """Return the newest document of the sample world that is most like the requested one."""
        begin = path.rpartition("/")[2].partition("_20")[0].removesuffix(".json")
        names = [name for name in self._sample.namelist() if name.startswith(f"{key}/")]
        names = [name for name in names if not name.endswith((".headers.json", "page-2.json"))]
        like = [name for name in names if begin in name] or names
        name = max(like)
        body = self._sample.read(name)
        if name.endswith("page-1.json"):
            # One page of as many: the other is left out.
            meta, rows = json.loads(body)
            body = json.dumps([{**meta, "page": 1, "pages": 1, "total": len(rows)}, rows]).encode()
        return name, body

    @cached_property
    def _sample(self) -> ZipFile:
        return ZipFile(ARCHIVES["fictional"])


class _Portal:
    """One portal with one contracting process, which was released yesterday."""

    def __init__(self, entry: PortalEntry) -> None:
        self._entry = entry
        self._day = datetime.now(UTC).date() - timedelta(days=1)

    def reply_to(self, path: str, request: ReceivedRequest) -> Reply:
        declared = self._entry.request
        if isinstance(declared, Index):
            return self._index(declared, path, request)
        if isinstance(declared, Files):
            if "page" in declared.placeholders() and request.query.get("code", "1") != "1":
                return Reply(b"", 404)
            return self._document(declared.format)
        return self._document("json")

    def _index(self, declared: Index, path: str, request: ReceivedRequest) -> Reply:
        list_path = re.sub(r"\\{.*?\\}", r"\\d+", re.escape(declared.address.partition("?")[0]))
        if not re.fullmatch(list_path, path) or "ocid" in request.query:
            return self._document(declared.format)
        document = f"{self._entry.base_url}/documents/{self._day:%Y/%m}"
        if declared.pattern is not None:
            return Reply(
                b'<td><span><a href="/tender/1">1</a></span></td>'
                b'<a href="existing_award_details.php?id=1">1</a>'
                + f"<item><link>{document}</link></item>".encode(),
                headers={"Content-Type": "text/html"},
            )
        body = json.loads(request.body or b"{}")
        page = int(request.query.get("page", body.get("page", 1))) + int(body.get("skip", 0))
        item = document if declared.name is None else _nested(declared.name, "1")
        if declared.name is not None and declared.document is None:
            item = _nested(declared.name, document)
        answer = _nested(str(declared.items), [item] if page == 1 else [])
        return _json(answer | (_nested(declared.pages, 1) if declared.pages else {}))

    def _document(self, form: str) -> Reply:
        moment = f"{self._day}T08:00:00Z"
        key = self._entry.key
        release = {
            "ocid": f"ocds-{key}-1",
            "id": f"{key}-1-{self._day}",
            "date": moment,
            "tag": ["tender"],
            "initiationType": "tender",
            "language": "en",
            "buyer": {"id": f"{key}-ministry", "name": "Ministry of Public Works"},
            "tender": {"id": "1", "title": "Bridge over a river", "status": "active"},
        }
        package = {
            "uri": f"{self._entry.base_url}/1",
            "publishedDate": moment,
            "publisher": {"name": "Ministry of Public Works"},
            "license": _LICENCE,
            "version": "1.1",
        }
        body = json.dumps({**package, "releases": [release]}).encode()
        match form:
            case "gzip":
                return Reply(gzip.compress(json.dumps(release).encode() + b"\n"))
            case "zip":
                return Reply(zip_of({"releases.json": body}))
            case _:
                return Reply(body, headers={"Content-Type": "application/json"})


def _json(value: Any) -> Reply:
    return Reply(json.dumps(value).encode(), headers={"Content-Type": "application/json"})


def _nested(path: str, value: Any) -> dict[str, Any]:
    """Return a value under a dotted path."""
    for name in reversed(path.split(".")):
        value = {name: value}
    return dict(value)


def _described() -> dict[str, Any]:
    description = {
        "id": SERIES,
        "realtime_start": "2024-01-01",
        "realtime_end": "9999-12-31",
        "title": "Consumer prices",
        "frequency": "Monthly",
        "frequency_short": "M",
        "units": "Index 2015=100",
        "seasonal_adjustment": "Not Seasonally Adjusted",
        "last_updated": "2024-02-01 07:00:00-06",
    }
    return {"seriess": [description]}


def _observed() -> dict[str, Any]:
    row = {
        "realtime_start": "2024-02-01",
        "realtime_end": "9999-12-31",
        "date": "2024-01-01",
        "value": "112.4",
    }
    return {"count": 1, "offset": 0, "limit": 100000, "observations": [row]}
