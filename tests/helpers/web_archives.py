"""Web archives written with warcio, for tests of recordings."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter


@dataclass(frozen=True)
class Recorded:
    """A response as a crawler recorded it."""

    url: str
    body: bytes = b"[]"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    moment: datetime = datetime(2026, 2, 20, 14, 30, 0, 123456, UTC)
    method: str = "GET"
    request_body: bytes = b""


def warc(*responses: Recorded, gzip: bool = True, revisits: Sequence[Recorded] = ()) -> bytes:
    """Write a WARC 1.1 with a request record beside each response."""
    sink = io.BytesIO()
    writer = WARCWriter(sink, gzip=gzip, warc_version="1.1")
    writer.write_record(writer.create_warcinfo_record("test.warc", {"software": "test"}))
    digests: dict[bytes, tuple[str, str, str]] = {}
    for response in responses:
        http = StatusAndHeaders(
            f"{response.status} X", list(response.headers.items()), protocol="HTTP/1.1"
        )
        record = writer.create_warc_record(
            response.url,
            "response",
            payload=io.BytesIO(response.body),
            http_headers=http,
            warc_headers_dict={"WARC-Date": _date(response.moment)},
        )
        asked = StatusAndHeaders(f"{response.method} / HTTP/1.1", [], is_http_request=True)
        request = writer.create_warc_record(
            response.url,
            "request",
            payload=io.BytesIO(response.request_body),
            http_headers=asked,
            warc_headers_dict={"WARC-Date": _date(response.moment)},
        )
        writer.write_request_response_pair(request, record)
        for written in (request, record):
            written.raw_stream.close()
        digest = record.rec_headers.get_header("WARC-Payload-Digest")
        digests[response.body] = (digest, response.url, _date(response.moment))
    for revisit in revisits:
        digest, url, date = digests.get(revisit.body, ("sha1:NONE", revisit.url, "2020-01-01"))
        record = writer.create_revisit_record(
            revisit.url,
            digest,
            url,
            date,
            http_headers=StatusAndHeaders("200 OK", [], protocol="HTTP/1.1"),
            warc_headers_dict={"WARC-Date": _date(revisit.moment)},
        )
        writer.write_record(record)
    return sink.getvalue()


def _date(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
