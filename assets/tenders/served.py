"""The members of a release that may be served: a whitelist, everything else is left out.

Contact members are not on it. Texts are cleaned, organisations are shown where they are
established, unknown amounts and impossible dates are left out.
"""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import msgspec

from assets.tenders.parties import Parties
from assets.tenders.portals import Portal
from assets.tenders.values import amount, day, ident, members, text
from quality.free_text import clean

_PERIOD = {"startDate": "day", "endDate": "day", "maxExtentDate": "day", "durationInDays": "number"}
_CODED = {"scheme": "text", "id": "id", "description": "text"}
_ITEM = {
    "id": "id",
    "description": "text",
    "classification": _CODED,
    "quantity": "number",
    "unit": {"scheme": "text", "id": "id", "name": "text", "value": "money"},
}
_SERVED: Mapping[str, Any] = {
    "buyer": "organisation",
    "tender": {
        "id": "id",
        "title": "text",
        "description": "text",
        "status": "text",
        "procuringEntity": "organisation",
        "items": [_ITEM],
        "value": "money",
        "minValue": "money",
        "procurementMethod": "text",
        "procurementMethodDetails": "text",
        "mainProcurementCategory": "text",
        "awardCriteria": "text",
        "tenderPeriod": _PERIOD,
        "enquiryPeriod": _PERIOD,
        "awardPeriod": _PERIOD,
        "contractPeriod": _PERIOD,
        "numberOfTenderers": "number",
        "tenderers": ["organisation"],
    },
    "awards": [
        {
            "id": "id",
            "title": "text",
            "description": "text",
            "status": "text",
            "date": "day",
            "value": "money",
            "suppliers": ["organisation"],
            "items": [_ITEM],
            "contractPeriod": _PERIOD,
        }
    ],
    "contracts": [
        {
            "id": "id",
            "awardID": "id",
            "title": "text",
            "description": "text",
            "status": "text",
            "period": _PERIOD,
            "value": "money",
            "items": [_ITEM],
            "dateSigned": "day",
        }
    ],
}
_ENCODER = msgspec.json.Encoder(decimal_format="number", order="sorted")


class Served:
    """What may be shown of the releases of one document."""

    def __init__(self, portal: Portal, latest: date, parties: Parties) -> None:
        self._portal = portal
        self._latest = latest
        self._parties = parties

    def release(self, release: dict[str, Any]) -> str:
        """Give the whitelisted members as canonical JSON, every digit as published."""
        return _ENCODER.encode(self._shaped(release, _SERVED) or {}).decode()

    def _shaped(self, value: Any, shape: Any) -> Any:
        if isinstance(shape, str):
            return getattr(self, f"_{shape}")(value)
        if isinstance(shape, list):
            listed = value if isinstance(value, list) else []
            return [kept for each in listed if (kept := self._shaped(each, shape[0]))] or None
        found = members(value)
        kept = {
            name: self._shaped(found[name], each) for name, each in shape.items() if name in found
        }
        return {name: each for name, each in kept.items() if each is not None} or None

    def _id(self, value: Any) -> str | int | None:
        return value if isinstance(value, int) and ident(value) else text(value)

    def _text(self, value: Any) -> str | None:
        found = text(value)
        return text(clean(found)) if found else None

    def _number(self, value: Any) -> int | Decimal | None:
        number = isinstance(value, int | Decimal) and not isinstance(value, bool)
        return value if number else None

    def _day(self, value: Any) -> str | None:
        return text(value) if day(value, self._portal, self._latest) else None

    def _money(self, value: Any) -> dict[str, Any] | None:
        stated = members(value)
        exact = amount(stated.get("amount"), self._portal)
        if exact is None:
            return None
        currency = text(stated.get("currency"))
        return {"amount": exact} | ({"currency": currency} if currency else {})

    def _organisation(self, value: Any) -> dict[str, str] | None:
        return self._parties.served(value) if isinstance(value, dict) else None
