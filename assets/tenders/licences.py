"""What a package says of its licence, read from whatever text or address stands there."""

import re

from warehouse.tables import LicenseClass

# In this order: what forbids is looked for before what it resembles.
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


def license_of(stated: str | None) -> LicenseClass | None:
    """Give the class of a stated licence; ``restricted`` where it is not open to us.

    None where nothing is stated, or nothing that we know.
    """
    text = (stated or "").lower()
    if any(re.search(pattern, text) for pattern in _CLOSED):
        return "restricted"
    return next((kind for pattern, kind in _OPEN if re.search(pattern, text)), None)
