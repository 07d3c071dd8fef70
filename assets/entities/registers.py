"""Company registers under the codes that different lists give them, as data.

The main code is that of org-id.guide. Beside it stand other codes of the same register there or
in use by publishers, those of GLEIF's list of registration authorities, and those of the sample
world (``RA99....``). A code stands here only where its list, with the register's name or
address, or a published LEI record shows that it is this register's; for Kenya, Egypt, Morocco,
Ghana and Namibia no code of GLEIF's list is.
"""

import unicodedata
from dataclasses import dataclass


@dataclass(frozen=True)
class Register:
    """One register, and every code by which it is named."""

    code: str
    other_codes: tuple[str, ...]


REGISTERS = (
    Register("ZA-CIP", ("ZA-CIPC", "ZA-CR", "RA000531", "RA990001")),
    Register("NG-CAC", ("NG-CR", "RA000469", "RA990002")),
    Register("KE-RCO", ("RA990003",)),
    Register("EG-CR", ("RA990004",)),
    Register("MA-CR", ("RA990005",)),
    Register("GH-RGD", ("GH-CR", "RA990006")),
    Register("NA-BIPA", ("RA990007",)),
    Register("CI-CR", ("RA000155", "RA990008")),
    Register("MU-CR", ("RA000447", "RA990009")),
    Register("CO-RUE", ("RA000093", "RA990010")),
)
LEI_SCHEMES = frozenset({"XI-LEI", "LEI"})

_CODES = {code: each.code for each in REGISTERS for code in (each.code, *each.other_codes)}


def register_of(code: str | None) -> str | None:
    """Give the main code of a register; an unknown code stands for itself."""
    plain = (code or "").strip().upper()
    return _CODES.get(plain, plain) or None


def plain_number(number: str | None) -> str | None:
    """Give a number as it compares: case, width and blanks do not matter, all else does."""
    return "".join(unicodedata.normalize("NFKC", number or "").split()).upper() or None


def is_numbered(number: str) -> bool:
    """Say whether it numbers anything: a placeholder has no digit but zeros."""
    return any(each.isdigit() and each != "0" for each in number)
