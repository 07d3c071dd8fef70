"""Identifiers of organisations: check digits, comparable form, registers, and service_ids.

Which identifier of an organisation is the strongest is decided in ``joined_ids``, not here.
"""

import hashlib
import re
import unicodedata
from dataclasses import dataclass

from stdnum import figi as figis
from stdnum import isin as isins
from stdnum import lei as leis

# Crockford's base32: no I, L, O or U, so that a code can be read aloud and typed.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH = 10

# ``stdnum`` itself ignores blanks and dashes; the standards do not allow them.
_LEI = re.compile("[A-Z0-9]{18}[0-9]{2}")
_ISIN = re.compile("[A-Z]{2}[A-Z0-9]{9}[0-9]")
_FIGI = re.compile("[A-Z0-9]{11}[0-9]")
_CIK = re.compile("[0-9]{1,10}")


@dataclass(frozen=True)
class Register:
    """A company register, and every code that names it.

    The main code is that of org-id.guide. The others are further codes there or in use by
    publishers, those of GLEIF's list of registration authorities, and those of the sample world
    (``RA99....``). A code is listed only if its list, with the register's name or address, or a
    published LEI record shows that it is this register's; for Kenya, Egypt, Morocco, Ghana and
    Namibia no code of GLEIF's list is.
    """

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
# How publishers of tenders name the LEI among the schemes of registers.
LEI_SCHEMES = frozenset({"XI-LEI", "LEI"})

_MAIN_CODES = {
    code: register.code for register in REGISTERS for code in (register.code, *register.other_codes)
}


def mint(scheme: str, value: str) -> str:
    """Return the service_id of an identifier; the same identifier always gives the same id.

    Case, width and surrounding blanks do not matter: ``mint("lei", x)`` is ``mint("LEI", x)``.
    """
    scheme, value = _normalise_text(scheme), _normalise_text(value)
    # With a colon in the scheme, two identifiers could be hashed as one text.
    if not scheme or not value or ":" in scheme:
        raise ValueError(f"{scheme!r}:{value!r} names no identifier: both parts are needed")
    digest = hashlib.sha256(f"{scheme}:{value}".encode("utf-8", "surrogatepass")).digest()
    # The first 50 bits, five to a character.
    number = int.from_bytes(digest[:8]) >> (64 - 5 * _LENGTH)
    shifts = range(5 * (_LENGTH - 1), -1, -5)
    return "DC" + "".join(_ALPHABET[(number >> shift) & 31] for shift in shifts)


def is_lei(text: str) -> bool:
    """Return whether a text is a valid LEI (ISO 17442), without blanks or dashes."""
    return _LEI.fullmatch(text) is not None and leis.is_valid(text)


def is_isin(text: str) -> bool:
    """Return whether a text is a valid ISIN (ISO 6166)."""
    return _ISIN.fullmatch(text) is not None and isins.is_valid(text)


def is_figi(text: str) -> bool:
    """Return whether a text is a valid FIGI."""
    return _FIGI.fullmatch(text) is not None and figis.is_valid(text)


def cik_of(cik: object) -> str:
    """Return a CIK, which some files write as a number, in ten digits as EDGAR pads it."""
    digits = str(cik).strip()
    if isinstance(cik, bool) or not _CIK.fullmatch(digits):
        raise ValueError(f"{cik!r:.60} is not a CIK")
    return digits.zfill(10)


# Brazil's federal number of a company. LEI records have it under the code of the board of trade of
# any of its states, among numbers of those boards: its form tells it.
CNPJ_REGISTER = "BR-CNPJ"
CNPJ_FORM = r"[0-9]{2}\.[0-9]{3}\.[0-9]{3}/[0-9]{4}-[0-9]{2}"


def register_of_number(code: str | None, number: str) -> str | None:
    """Return the main code of the register that a normalised number is of."""
    return CNPJ_REGISTER if re.fullmatch(CNPJ_FORM, number) else register_of(code)


def register_of(code: str | None) -> str | None:
    """Return the main code of a register; an unknown code stands for itself."""
    normalised = (code or "").strip().upper()
    return _MAIN_CODES.get(normalised, normalised) or None


def normalise_number(number: str | None) -> str | None:
    """Return a number in comparable form: case, width and blanks do not matter, all else does."""
    return "".join(unicodedata.normalize("NFKC", number or "").split()).upper() or None


def has_digits(number: str) -> bool:
    """Return whether a number has a digit other than zero; a placeholder has none."""
    return any(character.isdigit() and character != "0" for character in number)


def _normalise_text(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split()).upper()
