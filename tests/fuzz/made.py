"""Requests made up at random: real values, altered ones, and what no one would send."""

from collections.abc import Callable
from random import Random
from urllib.parse import quote, quote_from_bytes

from api.endpoints.declarations import ENDPOINTS
from api.endpoints.endpoint import Endpoint
from tests.fuzz.service import FuzzInputs, Request
from tests.sample_world.organisations import person_name

KEYED = [endpoint for endpoint in ENDPOINTS if endpoint.needs_key]
_DECLARED = [parameter for endpoint in KEYED for parameter in endpoint.parameters]
_NAMES = sorted({parameter.name for parameter in _DECLARED})
_URL_SAFE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_ODD = (
    *("", " ", "0", "-1", "1", "24", "25", "26", "100", "1000", "1001", "999999999", "1e3", "+5"),
    *("٢٥", "２５", "1.0", "0x10", "null", "None", "NaN", "true", "[]", "{}", "%", "%%", "_", "*"),
    *("2024-02-29", "2023-02-29", "0000-00-00", "0001-01-01", "9999-12-31", "2024", "2024-6-1"),
    *("２０２４-01-01", "2024-01-01T00:00:00Z", "ZA", "za", "ZAF", "NA", "ſa", "KE", "K\u212a"),
    *("' OR '1'='1", "'; DROP TABLE entities; --", "a\x00b", "\x00", "\ud800", "\U0001f600", "é"),
    *("../../control.sqlite", "..", "/etc/passwd", "<script>", "\r\nX-Injected: 1", "a" * 300),
    *("lei", "ticker", "registry", "aggregator", "isin", "figi", "LEI", "AF-FUND", "af-macro"),
    *("latest", "as_reported", "all", "FY", "asc", "desc", "net_margin", "buyer", "supplier"),
    *("daily", "monthly", "fx", "cpi", "AF-TENDER", "DC", "DCNOBODY", "single-bid-rate"),
)
_LIMITS = ("1", "7", "25", "25", "26", "1000", "1001")
# What is right by the declaration, for names of which the world has no values of its own.
_RIGHT: dict[str, tuple[str, ...]] = {
    **{p.name: (str(p.example),) for p in _DECLARED if p.example is not None},
    **{p.name: tuple(p.kind.words) for p in _DECLARED if "enum" in p.kind.schema},
    "limit": _LIMITS,
    "country": ("ZA", "ke", "CO", "NG", "ZAF", "ken"),
    "as_of": ("2024-06-30", "2020-01-01", "2999-01-01"),
}
_METHODS = ("HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH", "TRACE", "get")
_HEADERS: dict[str, tuple[str, ...]] = {
    "Accept": ("*/*", "text/html", "application/json;q=0", "application/*", "a", ",;=", ""),
    "Accept-Encoding": ("gzip", "zstd", "gzip;q=0, *", "br", "gzip;q=x", ""),
    "If-None-Match": ("*", '"x"', 'W/"x", *', '"'),
    "Range": ("bytes=0-3", "bytes=-1", "bytes=99999999999-", "bytes=a-b", "bytes=-"),
    "If-Range": ('"x"', "x"),
    "X-Request-Id": ("a" * 200, "ok-1", "\x7f", "é"),
    "X-Data-Version": ("20000101.1", "latest", "..", "0", "99999999.9", "20261114.3'--"),
    "Authorization": ("Bearer", "Bearer ", "Basic eDp5", "bearer sk_live_x", "Bearer \xff"),
    "X-Forwarded-For": ("1.2.3.4", "x"),
    "Origin": ("https://example.org", "null"),
    "Host": ("evil.example", "", "a:b:c"),
}


class Maker:
    """Makes one request after the other from a seed."""

    def __init__(self, seed: int, inputs: FuzzInputs) -> None:
        self._random, self._inputs = Random(seed), inputs
        self._pool = [value for values in inputs.values.values() for value in values]
        self._cursors = list(inputs.cursors.items())
        self._ways: tuple[Callable[[], Request], ...] = (
            *(self._of_endpoint,) * 12,
            *(self._with_a_cursor,) * 4,
            *(self._with_a_wrong_key,) * 3,
            self._of_a_file,
        )

    def request(self) -> Request:
        """Make one."""
        return self._random.choice(self._ways)()

    def _of_endpoint(self) -> Request:
        endpoint = self._random.choice(KEYED)
        query = self._query(endpoint)
        method = "GET" if self._random.random() < 0.97 else self._random.choice(_METHODS)
        return Request(self._path(endpoint), query, self._key(), method, self._headers())

    def _with_a_cursor(self) -> Request:
        filters, cursor = self._random.choice(self._cursors)
        if self._random.random() < 0.85:
            cursor = self._altered(cursor)
        if self._random.random() < 0.2:
            filters = self._random.choice(self._cursors)[0]
        limit = self._random.choice(("", "", "&limit=25", "&limit=26", "&limit=7"))
        query = f"{filters}&cursor={quote(cursor, safe='', errors='replace')}{limit}"
        return Request("/v1/tenders", query, self._key())

    def _with_a_wrong_key(self) -> Request:
        endpoint = self._random.choice(KEYED)
        wrong = self._random.choice(
            (None, "", self._inputs.revoked, self._altered(self._key()), self._text())
        )
        header = None if wrong is None else wrong.encode(errors="replace").decode("latin-1")
        if header is not None and self._random.random() < 0.3:
            bearer = (("Authorization", f"Bearer {header}"),)
            return Request(self._path(endpoint), self._query(endpoint), None, headers=bearer)
        return Request(self._path(endpoint), self._query(endpoint), header)

    def _of_a_file(self) -> Request:
        files = (*self._inputs.licensed_files, *self._inputs.open_files, "manifest.json")
        name, version = self._random.choice(files), self._random.choice(self._versions())
        if self._random.random() < 0.3:
            name = self._altered(name)
        key = self._random.choice((None, self._inputs.keys["sample"], self._inputs.revoked))
        written = quote(name, safe=self._random.choice(("", "/.")), errors="replace")
        span = self._random.choice(((), (("Range", self._random.choice(_HEADERS["Range"])),)))
        return Request(f"/exports/{quote(version)}/{written}", "", key, headers=span)

    def _path(self, endpoint: Endpoint) -> str:
        path = endpoint.path
        for name in endpoint.in_path:
            path = path.replace(f"{{{name}}}", self._escaped(self._value(name)))
        return path

    def _query(self, endpoint: Endpoint) -> str:
        random = self._random
        if random.random() < 0.02:
            return quote_from_bytes(random.randbytes(12), safe="&=;+%") * random.choice((1, 1, 700))
        names = [item.name for item in endpoint.query.values() if item.required]
        if random.random() < 0.1:
            names = []
        names += random.sample([*endpoint.query], min(len(endpoint.query), random.randrange(4)))
        if random.random() < 0.08:
            names.append(random.choice((random.choice(_NAMES), self._text())))
        if random.random() < 0.9:
            names = list(dict.fromkeys(names))
        return "&".join(
            f"{self._escaped(name)}={self._escaped(self._value(name))}" for name in names
        )

    def _value(self, name: str) -> str:
        random, dice = self._random, self._random.random()
        right = self._inputs.values.get(name) or _RIGHT.get(name)
        if dice < 0.6 and right:
            return random.choice(right)
        if dice < 0.8:
            return random.choice(_ODD)
        if dice < 0.88:
            return random.choice(self._pool)
        if dice < 0.9:
            return person_name(random.randrange(400))
        return self._altered(random.choice(self._pool)) if dice < 0.95 else self._text()

    def _key(self) -> str:
        tier = self._random.choice(("sample", "sample", "sample", "starter", "professional"))
        return self._inputs.keys[tier]  # type: ignore[index]

    def _headers(self) -> tuple[tuple[str, str], ...]:
        if self._random.random() < 0.85:
            return ()
        names = self._random.sample(sorted(_HEADERS), self._random.randrange(1, 4))
        return tuple((name, self._random.choice(_HEADERS[name])) for name in names)

    def _versions(self) -> list[str]:
        return [*self._inputs.values["version"], "..", "20000101.1", "%2e%2e", "latest/.."]

    def _altered(self, text: str) -> str:
        """Change one character, or the length, or the case."""
        position = self._random.randrange(len(text) or 1)
        before, after = text[:position], text[position + 1 :]
        return self._random.choice(
            (
                f"{before}{self._random.choice(_URL_SAFE)}{after}",
                f"{before}{chr(self._random.randrange(1, 0x2FF))}{after}",
                f"{before}{self._random.choice(_URL_SAFE)}{text[position:]}",
                before,
                before + after,
                text + text,
                text + "=",
                text.swapcase(),
                text[::-1],
            )
        )

    def _text(self) -> str:
        length = self._random.choice((1, 2, 3, 8, 20, 64, 65, 90))
        highest = self._random.choice((0x7F, 0xFF, 0x2FFF, 0x10FFFF))
        return "".join(chr(self._random.randrange(highest + 1)) for _ in range(length))

    def _escaped(self, text: str) -> str:
        """Write a text for an address; now and then as bytes that are no UTF-8."""
        if self._random.random() < 0.01:
            return quote_from_bytes(self._random.randbytes(6), safe="")
        return quote(text, safe="", errors="surrogatepass")
