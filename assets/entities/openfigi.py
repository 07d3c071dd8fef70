"""Parse answers of OpenFIGI's mapping into identifiers: the FIGIs of a security.

The answer is a list as long as the request and does not repeat it: what was requested comes from
the header ``x-jobs`` of the document. An organisation is minted from it: an ISIN, a listing (ticker
and market), a FIGI or another number of a security. A ticker without a market identifies nothing.
The markets of an answer are not stored: a large share is traded in dozens, and listed in few.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from assets.entities.identifiers import identifier_row, is_figi, is_isin, mic_of_exchange_code, mint
from assets.parsing.parsed import Parsed, provenance
from warehouse.record.landing import Document
from warehouse.record.tables import IDENTIFIERS
from warehouse.shared.data_files import csv_rows

# From the narrowest to the widest: where two are the same FIGI, the widest counts.
_LEVELS = {"figi": "listing", "compositeFIGI": "composite", "shareClassFIGI": "share_class"}
# What jobs may ask by -> the level of a FIGI, a ticker, or another number of one security in the
# world or in a country.
_KINDS = {row["id_type"]: row["kind"] for row in csv_rows(__name__, "figi_jobs")}


class Requested(NamedTuple):
    """What a job requested: what to mint from, the identifier that this is, and its words."""

    scheme: str
    value: str
    identifier: dict[str, Any] | None
    words: str


def parse(document: Document, body: bytes) -> Parsed:
    """Parse the answer to each job; a warning, an error and an empty answer are rejected."""
    parsed = Parsed()
    try:
        answers = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
        jobs = _jobs(document, answers)
    except (ValueError, RecursionError) as error:
        reason = "not JSON" if isinstance(error, msgspec.DecodeError) else str(error)
        parsed.reject(IDENTIFIERS, document, "", reason)
        return parsed
    for position, (job, answer) in enumerate(zip(jobs, answers, strict=True)):
        _add_answer(parsed, document, f"/{position}", job, answer)
    return parsed


def _jobs(document: Document, answers: Any) -> list[Any]:
    """Return the job that each answer is for."""
    if not isinstance(answers, list) or not answers:
        raise ValueError("no list of answers to a mapping request")
    headers = {name.lower(): value for name, value in document.headers.items()}
    if "x-jobs" not in headers:
        raise ValueError("not known what was requested: no header x-jobs")
    decoded = msgspec.json.decode(headers["x-jobs"])
    jobs: list[Any] = decoded if isinstance(decoded, list) else []
    if len(jobs) != len(answers):
        raise ValueError(f"{len(answers)} answers to a request for {len(jobs)}")
    return jobs


def requested_by(job: Any) -> Requested | str:
    """Return what a job requested; a text says why that identifies nothing."""
    members = job if isinstance(job, dict) else {}
    kind, value = str(members.get("idType")), str(members.get("idValue") or "").strip().upper()
    if kind == "ID_ISIN":
        if not is_isin(value):
            return f"requested {value!r:.40}, which is no ISIN"
        return Requested("isin", value, identifier_row("isin", value), value)
    identified_by = _KINDS.get(kind)
    if identified_by in _LEVELS.values():
        if not is_figi(value):
            return f"requested {value!r:.40}, which is no FIGI"
        figi = identifier_row("figi", value) | {"figi_level": identified_by}
        return Requested("figi", value, figi, value)
    if identified_by == "ticker":
        mic, currency = _market(members), members.get("currency")
        if not mic or not value:
            return f"requested the ticker {value!r:.40} without a market"
        listing = f"{mic}:{value}"
        is_code = isinstance(currency, str) and len(currency) == 3
        own = {"issuer": mic, "currency": currency if is_code else None}
        return Requested("ticker", listing, identifier_row("ticker", listing) | own, listing)
    if identified_by == "number" and value:
        return Requested(kind.removeprefix("ID_").lower(), value, None, f"{kind} {value}")
    return f"requested {kind!r:.40}, which identifies no security"


def _market(job: Mapping[str, Any]) -> str | None:
    if isinstance(mic := job.get("micCode"), str) and mic:
        return mic.strip().upper()
    code = job.get("exchCode")
    return mic_of_exchange_code(code) if isinstance(code, str) else None


def _add_answer(parsed: Parsed, document: Document, location: str, job: Any, answer: Any) -> None:
    securities = answer.get("data") if isinstance(answer, dict) else None
    requested = requested_by(job)
    if isinstance(requested, str):
        parsed.reject(IDENTIFIERS, document, location, requested)
    elif not isinstance(securities, list) or not securities:
        members = answer if isinstance(answer, dict) else {}
        failure = members.get("warning") or members.get("error") or "no answer"
        reason = f"{requested.words}: OpenFIGI: {failure!s:.120}"
        parsed.reject(IDENTIFIERS, document, location, reason)
    else:
        shared = provenance(document, location, "api") | {
            "service_id": mint(requested.scheme, requested.value),
            "available_at": document.observed_at.date(),
            # One publication, however often it is read: an answer that repeats is not stored again.
            "publication": document.source,
        }
        rows = _rows(parsed, document, location, requested, securities)
        parsed.add(IDENTIFIERS, [shared | row for row in rows])


def _rows(
    parsed: Parsed, document: Document, location: str, requested: Requested, securities: list[Any]
) -> Iterator[dict[str, Any]]:
    if requested.identifier is not None:
        yield requested.identifier
    # The listings of a security share its composite and share-class FIGI.
    for figi, level in _figis(securities).items():
        if requested.scheme == "figi" and figi == requested.value:
            continue
        if is_figi(figi):
            yield identifier_row("figi", figi) | {"figi_level": level}
        else:
            parsed.reject(IDENTIFIERS, document, location, f"{figi!r:.40} is no FIGI")


def _figis(securities: list[Any]) -> dict[str, str]:
    """Return the FIGIs of each listing, its country and the share class, with their levels."""
    order = list(_LEVELS.values())
    levels: dict[str, str] = {}
    for security in securities:
        for member, level in _LEVELS.items() if isinstance(security, dict) else ():
            if security.get(member) is not None:
                figi = str(security[member])
                levels[figi] = max(levels.get(figi, level), level, key=order.index)
    return levels
