"""Parse answers of OpenFIGI's mapping into identifiers: the FIGIs of an ISIN's security.

The answer is a list as long as the request and does not repeat it: the requested ISINs come from
the headers of the document, ``x-request-isins`` or the request itself in ``x-jobs``.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from assets.entities.identifiers import is_figi, is_isin, mint
from assets.parsing.parsed import Parsed, provenance
from warehouse.record.landing import Document
from warehouse.record.tables import IDENTIFIERS

_LEVELS = ("figi", "compositeFIGI", "shareClassFIGI")


def parse(document: Document, body: bytes) -> Parsed:
    """Parse the FIGIs of each requested ISIN; an ISIN without any is rejected."""
    parsed = Parsed()
    try:
        answers = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
        isins = _requested_isins(document, answers)
    except (ValueError, RecursionError) as error:
        reason = "not JSON" if isinstance(error, msgspec.DecodeError) else str(error)
        parsed.reject(IDENTIFIERS, document, "", reason)
        return parsed
    for position, (isin, answer) in enumerate(zip(isins, answers, strict=True)):
        _add_answer(parsed, document, f"/{position}", isin, answer)
    return parsed


def _requested_isins(document: Document, answers: Any) -> list[str]:
    """Return the ISIN that each answer is for."""
    if not isinstance(answers, list) or not answers:
        raise ValueError("no list of answers to a mapping request")
    headers = {name.lower(): value for name, value in document.headers.items()}
    if "x-request-isins" in headers:
        isins = headers["x-request-isins"].upper().replace(" ", "").split(",")
    else:
        isins = list(_isins_of_jobs(headers.get("x-jobs")))
    if len(isins) != len(answers):
        raise ValueError(f"{len(answers)} answers to a request for {len(isins)} ISINs")
    return isins


def _isins_of_jobs(request: str | None) -> Iterator[str]:
    """Iterate over the ISINs of a request; an empty one for a job with another id type."""
    if request is None:
        raise ValueError("not known which ISINs were asked for: no header x-request-isins")
    jobs = msgspec.json.decode(request)
    for job in jobs if isinstance(jobs, list) else []:
        has_isin = isinstance(job, dict) and job.get("idType") == "ID_ISIN"
        yield str(job.get("idValue")).upper() if has_isin else ""


def _add_answer(parsed: Parsed, document: Document, location: str, isin: str, answer: Any) -> None:
    securities = answer.get("data") if isinstance(answer, dict) else None
    if not is_isin(isin):
        parsed.reject(IDENTIFIERS, document, location, f"asked for {isin!r:.40}, which is no ISIN")
    elif not isinstance(securities, list) or not securities:
        parsed.reject(IDENTIFIERS, document, location, f"{isin}: {_failure(answer)}")
    else:
        shared = _shared(document, location, isin)
        parsed.add(IDENTIFIERS, [shared | _identifier("isin", isin)])
        # The listings of a security share its composite and share-class FIGI.
        for figi in dict.fromkeys(_figis(securities)):
            if is_figi(figi):
                parsed.add(IDENTIFIERS, [shared | _identifier("figi", figi)])
            else:
                parsed.reject(IDENTIFIERS, document, location, f"{figi!r:.40} is no FIGI")


def _failure(answer: Any) -> str:
    members = answer if isinstance(answer, dict) else {}
    return f"OpenFIGI: {members.get('warning') or members.get('error') or 'no answer'!s:.120}"


def _figis(securities: list[Any]) -> Iterator[str]:
    """Iterate over the FIGIs of each listing, its country and the share class."""
    for security in securities:
        for level in _LEVELS if isinstance(security, dict) else ():
            if security.get(level) is not None:
                yield str(security[level])


def _shared(document: Document, location: str, isin: str) -> dict[str, Any]:
    observed_on = document.observed_at.date()
    return provenance(document, location, "api") | {
        "service_id": mint("isin", isin),
        "available_at": observed_on,
        "publication": observed_on.isoformat(),
    }


def _identifier(kind: str, value: str) -> dict[str, Any]:
    return {"id_type": kind, "id_value": value, "issuer": None, "status": None}
