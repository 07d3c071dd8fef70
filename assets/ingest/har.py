"""The exchanges of a HAR file, as browsers export what they loaded."""

import base64
import binascii
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from functools import partial
from typing import IO, Any

import ijson

from assets.ingest.exchanges import ArchiveError, Exchange, OnProblem, header_of, read_moment


def har_exchanges(body: IO[bytes], on_problem: OnProblem) -> Iterator[Exchange]:
    """Yield the responses of a HAR file in their order, one in memory at a time."""
    number = 0
    try:
        for number, entry in enumerate(ijson.items(body, "log.entries.item"), 1):
            try:
                yield _har_exchange(entry)
            except (KeyError, TypeError, ValueError, ArchiveError) as error:
                why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
                on_problem(f"entry {number}: {why}")
    except (ijson.JSONError, UnicodeDecodeError) as error:
        raise ArchiveError(f"it is not a HAR file: not JSON ({error})") from None
    if not number:
        raise ArchiveError("it is not a HAR file, or an empty one: it has no log.entries")


def _har_exchange(entry: Any) -> Exchange:
    request, response = entry["request"], entry["response"]
    headers = tuple((str(h["name"]), str(h["value"])) for h in response.get("headers") or ())
    status = int(response["status"])
    location = header_of(headers, "location") or response.get("redirectURL")
    return Exchange(
        str(request["url"]).partition("#")[0],
        read_moment(entry["startedDateTime"]),
        status,
        headers,
        partial(_har_body, response.get("content") or {}, headers),
        str(request.get("method", "GET")).upper(),
        str((request.get("postData") or {}).get("text") or "").encode(),
        str(location) if location and 300 <= status < 400 else None,
    )


@contextmanager
def _har_body(
    content: Mapping[str, Any], headers: tuple[tuple[str, str], ...]
) -> Iterator[IO[bytes]]:
    text = content.get("text")
    if text is None:
        raise ArchiveError("its body was not recorded; export the HAR with content")
    yield io.BytesIO(_har_bytes(str(text), content.get("encoding"), headers))


def _har_bytes(text: str, encoding: Any, headers: tuple[tuple[str, str], ...]) -> bytes:
    if encoding == "base64":
        try:
            return base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise ArchiveError(f"its body is not base64 ({error})") from None
    # A browser writes the text that it decoded; the bytes were in the charset of the response.
    described = Message()
    described["content-type"] = header_of(headers, "content-type")
    try:
        return text.encode(described.get_content_charset() or "utf-8")
    except (LookupError, UnicodeEncodeError):
        return text.encode()
