"""Identifiers of organisations: check digits, comparable form, registers, markets, service_ids.

Which identifier of an organisation is the strongest is decided in ``joined_ids``, not here.
"""

import hashlib
import re
import unicodedata
from collections import defaultdict
from datetime import date
from typing import Any

from stdnum import figi as figis
from stdnum import isin as isins
from stdnum import lei as leis

from warehouse.shared.data_files import csv_rows

# Crockford's base32: no I, L, O or U, so that a code can be read aloud and typed.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH = 10

# ``stdnum`` itself ignores blanks and dashes; the standards do not allow them.
_LEI = re.compile("[A-Z0-9]{18}[0-9]{2}")
_ISIN = re.compile("[A-Z]{2}[A-Z0-9]{9}[0-9]")
_FIGI = re.compile("[A-Z0-9]{11}[0-9]")
_CIK = re.compile("[0-9]{1,10}")


# Every code that names a company register -> its main code, that of org-id.guide. The others are
# further codes there or in use by publishers, those of GLEIF's list of registration authorities,
# and those of the sample world (``RA99....``). A code is listed only if its list, with the
# register's name or address, or a published LEI record shows that it is this register's; for Kenya,
# Egypt, Morocco, Ghana and Namibia no code of GLEIF's list is.
REGISTERS = {row["code"]: row["register"] for row in csv_rows(__name__, "registers")}
# How publishers of tenders name the LEI among the schemes of registers.
LEI_SCHEMES = frozenset({"XI-LEI", "LEI"})


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


def identifier_row(
    id_type: str, id_value: str, issuer: str | None = None, status: str | None = None
) -> dict[str, Any]:
    """Return the columns of an identifier that all sources of identifiers state."""
    return {"id_type": id_type, "id_value": id_value, "issuer": issuer, "status": status}


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


def register_of(code: str | None) -> str | None:
    """Return the main code of a register; an unknown code is kept, in capitals."""
    normalised = (code or "").strip().upper()
    return REGISTERS.get(normalised, normalised) or None


def normalise_number(number: str | None) -> str | None:
    """Return a number in comparable form: case, width and blanks do not matter, all else does."""
    return "".join(unicodedata.normalize("NFKC", number or "").split()).upper() or None


def has_digits(number: str) -> bool:
    """Return whether a number has a digit other than zero; a placeholder has none."""
    return any(character.isdigit() and character != "0" for character in number)


def _normalise_text(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split()).upper()


# Markets by their MIC (ISO 10383): who operates them, and where.
#
# ``mics.csv`` has the vintages of every MIC, also of those that have expired: a row for each list
# that says something new (``tests/helpers/mic_lists.py`` writes it), in order of the lists. A
# market of its own has an operating MIC; its segments (the boards of an exchange) have MICs of
# their own. ``figi_exchanges.csv`` has the exchange codes of OpenFIGI that mean one market.

_VINTAGES: dict[str, list[dict[str, str]]] = defaultdict(list)
for _vintage in csv_rows(__name__, "mics"):
    _VINTAGES[_vintage["mic"]].append(_vintage)
_EXCHANGE_CODES = {
    row["exch_code"]: row["operating_mic"] for row in csv_rows(__name__, "figi_exchanges")
}


def doubt_of(mic: str, day: date) -> str | None:
    """Return why a list of a day can hardly mean the market of a MIC; None if nothing is wrong."""
    if mic.upper() not in _VINTAGES:
        return f"{mic} is on no list of ISO 10383"
    # As the last list up to the day has it; what a list does not state is empty.
    known = [each for each in _VINTAGES[mic.upper()] if each["listed_on"] <= str(day)]
    expired = known[-1]["expired"] if known else ""
    return f"{mic} expired on {expired}" if expired and expired <= str(day) else None


def operating_mic(mic: str) -> str:
    """Return the MIC under which listings are compared: of the operator, if it is a segment's.

    A MIC that is not on the list is returned in capitals.
    """
    mic, seen = mic.upper(), set[str]()
    # The operator of some expired segments was itself taken over.
    while mic in _VINTAGES and mic not in seen:
        seen.add(mic)
        mic = _VINTAGES[mic][-1]["operating_mic"]
    return mic


def comparable_listing(listing: str) -> str:
    """Return MIC:TICKER with the operating MIC; a ticker is compared without regard to case."""
    mic, _, ticker = listing.partition(":")
    return f"{operating_mic(mic)}:{ticker.strip().upper()}"


def mic_of_exchange_code(code: str) -> str | None:
    """Return the operating MIC of an exchange code of OpenFIGI; None unless it means one market.

    "SJ" is Johannesburg; "US" is a country with many markets.
    """
    return _EXCHANGE_CODES.get(code.upper())
