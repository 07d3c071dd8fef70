"""The tender portals as the parser knows them: country, licence, quirks.

Their entries are read in ``portal_files``. How a portal is fetched does not belong here.
"""

import re
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from assets.tenders.code_lists import Words
from warehouse.tables import LicenseClass


@dataclass(frozen=True)
class Portal:
    """One publisher of releases; its quirks are observed facts, never guesses.

    ``license_class`` applies where a package names no licence that we recognise; if it is
    None, only packages that name an open licence are accepted.

    Quirks: ``zero_is_unknown`` writes 0 for a missing amount, ``zone_label_is_wrong`` labels local
    time as another zone, ``supplier_means_bidder`` gives every bidder the role supplier.
    ``sentinel_dates`` and ``placeholder_ids`` stand for nothing. ``complete_addresses``: a URL
    returns all its releases, so a missing one is withdrawn.

    ``words`` are what it writes in place of the codes of OCDS.
    """

    key: str
    country: str
    title: str
    license_class: LicenseClass | None
    method: Literal["api", "file"] = "api"
    zero_is_unknown: bool = False
    zone_label_is_wrong: bool = False
    supplier_means_bidder: bool = False
    sentinel_dates: frozenset[date] = frozenset()
    placeholder_ids: frozenset[str] = frozenset()
    complete_addresses: bool = False
    release_url: str | None = field(default=None)
    words: Words = field(default_factory=Words)


# Restrictions are looked for first: "CC BY-NC" also looks like "CC BY".
_CLOSED = (
    r"\bby-n[cd]\b|\bnon-?commercial\b|\bno-?deriv|\bnc-(?:sa|nd)\b",
    r"\bby-sa\b|\bshare-?alike\b|\bodbl\b",
    r"all rights reserved|todos los derechos reservados|todos os direitos reservados",
    r"\bproprietary\b|not be (?:re)?distributed|no redistribution",
)
_OPEN: tuple[tuple[str, LicenseClass], ...] = (
    (
        r"pddl|publicdomain/mark|public domain|dominio p[uú]blico|dom[ií]nio p[uú]blico",
        "public-domain",
    ),
    (r"\bcc-?0\b|publicdomain/zero|creative commons zero", "cc0"),
    (r"\bcc[ -]by\b|creativecommons\.org/licenses/by/|creative commons attribution", "cc-by"),
    (r"\bodc-by\b|opendatacommons\.org/licenses/by\b", "open-attribution"),
    (r"open[ -]government[ -]licen[cs]e|\bogl\b|licence[ -]ouverte|etalab", "open-attribution"),
)


def license_of(licence_text: str | None) -> LicenseClass | None:
    """Return the class of a licence text; ``restricted`` if it forbids redistribution.

    None if there is none, or none that we recognise.
    """
    lowered = (licence_text or "").lower()
    if any(re.search(pattern, lowered) for pattern in _CLOSED):
        return "restricted"
    return next(
        (license_class for pattern, license_class in _OPEN if re.search(pattern, lowered)), None
    )
