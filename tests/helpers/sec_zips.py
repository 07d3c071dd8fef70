"""Made-up files of SEC issuers, and zips of them like the nightly ones."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence

from tests.sample_world.organisations import cik_of, issuer
from tests.sample_world.sec import companyfacts
from tests.sample_world.stories import filings_of
from tests.sample_world.world import SMALL_WORLD
from tests.sample_world.writer import exact_json


def filer(
    cik: str,
    *,
    incorporated: str | None = "T3",
    business: str | None = "T3",
    mailing: str | None = "NY",
    forms: Sequence[str] = ("20-F",),
    xbrl: int = 1,
    inline: int = 0,
    name: str = "Fictional Gold Ltd",
) -> bytes:
    """Return a list of submissions, its members in the order of EDGAR."""
    count = len(forms)
    recent = {
        "accessionNumber": [f"0001172724-25-{number:06}" for number in range(count)],
        "filingDate": ["2025-03-27"] * count,
        "reportDate": ["2024-12-31"] * count,
        "acceptanceDateTime": ["2025-03-27T06:52:19.000Z"] * count,
        "act": ["34"] * count,
        "form": list(forms),
        "fileNumber": ["001-31318"] * count,
        "filmNumber": [f"2577{number:05}" for number in range(count)],
        "items": [""] * count,
        "core_type": list(forms),
        "size": list(range(count)),
        "isXBRL": [xbrl] * count,
        "isInlineXBRL": [inline] * count,
        "primaryDocument": ["fictional.htm"] * count,
        "primaryDocDescription": [""] * count,
    }
    places = {"mailing": mailing, "business": business}
    members: dict[str, object] = {
        "cik": cik.zfill(10),
        "entityType": "operating",
        "name": name,
        "stateOfIncorporation": incorporated,
        "addresses": {
            kind: {"stateOrCountry": code, "countryCode": None} for kind, code in places.items()
        },
        "formerNames": [],
        "filings": {"recent": recent, "files": []},
    }
    return json.dumps(members).encode()


def facts(serial: int) -> bytes:
    """Return the company facts of an issuer of the sample world."""
    company = issuer(serial)
    return exact_json(companyfacts(company, filings_of(1, company, SMALL_WORLD.day))[0]).encode()


def sample_cik(serial: int) -> str:
    """Return the CIK of an issuer of the sample world."""
    return cik_of(issuer(serial))


def name_of(cik: str) -> str:
    """Return the name of the file of an issuer."""
    return f"CIK{cik.zfill(10)}.json"


def zip_of(members: Mapping[str, bytes]) -> bytes:
    """Return a zip of named members."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return target.getvalue()
