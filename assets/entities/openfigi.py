"""Answers of OpenFIGI's mapping to identifiers: which FIGIs the security of an ISIN has.

The answer is a list as long as the request and does not repeat it: what was asked comes from
the header of the document, ``x-request-isins`` or the request itself in ``x-jobs``.
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
    """Read the FIGIs of each ISIN asked for; what was not found is rejected with its words."""
    parsed = Parsed()
    try:
        answers = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
        asked = _asked(document, answers)
    except (ValueError, RecursionError) as error:
        reason = "not JSON" if isinstance(error, msgspec.DecodeError) else str(error)
        parsed.reject(IDENTIFIERS, document, "", reason)
        return parsed
    for position, (isin, answer) in enumerate(zip(asked, answers, strict=True)):
        _keep(parsed, document, f"/{position}", isin, answer)
    return parsed


def _asked(document: Document, answers: Any) -> list[str]:
    """Give the ISIN each answer is for."""
    if not isinstance(answers, list) or not answers:
        raise ValueError("no list of answers to a mapping request")
    headers = {name.lower(): value for name, value in document.headers.items()}
    if "x-request-isins" in headers:
        asked = headers["x-request-isins"].upper().replace(" ", "").split(",")
    else:
        asked = list(_jobs(headers.get("x-jobs")))
    if len(asked) != len(answers):
        raise ValueError(f"{len(answers)} answers to a request for {len(asked)} ISINs")
    return asked


def _jobs(request: str | None) -> Iterator[str]:
    """Read the request; a job for anything else than an ISIN is for none."""
    if request is None:
        raise ValueError("not known which ISINs were asked for: no header x-request-isins")
    jobs = msgspec.json.decode(request)
    for job in jobs if isinstance(jobs, list) else []:
        named = isinstance(job, dict) and job.get("idType") == "ID_ISIN"
        yield str(job.get("idValue")).upper() if named else ""


def _keep(parsed: Parsed, document: Document, place: str, isin: str, answer: Any) -> None:
    found = answer.get("data") if isinstance(answer, dict) else None
    if not is_isin(isin):
        parsed.reject(IDENTIFIERS, document, place, f"asked for {isin!r:.40}, which is no ISIN")
    elif not isinstance(found, list) or not found:
        parsed.reject(IDENTIFIERS, document, place, f"{isin}: {_words(answer)}")
    else:
        shared = _shared(document, place, isin)
        parsed.add(IDENTIFIERS, [shared | _identifier("isin", isin)])
        for figi in dict.fromkeys(_figis(found)):
            if is_figi(figi):
                parsed.add(IDENTIFIERS, [shared | _identifier("figi", figi)])
            else:
                parsed.reject(IDENTIFIERS, document, place, f"{figi!r:.40} is no FIGI")


def _words(answer: Any) -> str:
    said = answer if isinstance(answer, dict) else {}
    return f"OpenFIGI: {said.get('warning') or said.get('error') or 'no answer'!s:.120}"


def _figis(found: list[Any]) -> Iterator[str]:
    """Give the FIGI of each listing, of its country and of the share class."""
    for security in found:
        for level in _LEVELS if isinstance(security, dict) else ():
            if security.get(level) is not None:
                yield str(security[level])


def _shared(document: Document, place: str, isin: str) -> dict[str, Any]:
    observed_on = document.observed_at.date()
    return provenance(document, place, "api") | {
        "service_id": mint("isin", isin),
        "available_at": observed_on,
        "publication": observed_on.isoformat(),
    }


def _identifier(kind: str, value: str) -> dict[str, Any]:
    return {"id_type": kind, "id_value": value, "issuer": None, "status": None}
