"""GLEIF documents for tests, and their rows."""

import json
from datetime import UTC, datetime
from typing import Any

from stdnum import lei as leis

from assets.entities import gleif
from assets.parsing.parsed import Parsed
from warehouse.record.landing import Document


def document() -> Document:
    observed = datetime(2026, 11, 14, 2, tzinfo=UTC)
    return Document("0" * 64, "gleif", "https://example.org/f", "cc0", observed, 200, {}, 0)


def checked(stem: str) -> str:
    """Return a fictional LEI with its check digits."""
    return next(f"{stem}{n:02}" for n in range(100) if leis.is_valid(f"{stem}{n:02}"))


LEI, OTHER = checked("213800FICTIONAL001"), checked("213800FICTIONAL002")


def cdf(**entity: Any) -> dict[str, Any]:
    return {
        "LEI": {"$": LEI},
        "Entity": {
            "LegalName": {"@xml:lang": "en", "$": "Ubuntu Fictional Mining Ltd"},
            "OtherEntityNames": {"OtherEntityName": [{"@type": "TRADING", "$": "UFM"}]},
            "LegalAddress": {"Country": {"$": "ZA"}},
            "RegistrationAuthority": {
                "RegistrationAuthorityID": {"$": "RA000604"},
                "RegistrationAuthorityEntityID": {"$": "2001/123456/06"},
            },
            "LegalJurisdiction": {"$": "ZA"},
            "EntityCategory": {"$": "GENERAL"},
            "EntityStatus": {"$": "ACTIVE"},
        }
        | entity,
        "Registration": {
            "LastUpdateDate": {"$": "2024-05-04T00:30:00+02:00"},
            "RegistrationStatus": {"$": "LAPSED"},
        },
    }


def read(root: Any) -> Parsed:
    return gleif.parse(document(), json.dumps(root).encode())
