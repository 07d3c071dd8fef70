"""Register numbers: those only organisations have, and those only natural persons have.

Registers of business names (Botswana, Ghana, Tanzania, Uganda, Zambia), tax numbers and
suppliers' lists include sole traders and prove nothing; in Nigeria and Kenya the letters before
the number distinguish companies from business names (BN).
"""

import re

from stdnum.pt import nif
from stdnum.ua import edrpou

_ORGANISATION_NUMBERS = {
    "ZA-CIP": r"(?:[A-Z]?\d{4}[/-]\d{6}[/-]\d{2}|CK ?\d{2,4}[/-]\d{4,6}(?:[/-]\d{2})?)",
    "ZA-NPO": r"\d{2,3}-\d{3}(?:-?NPO)?",
    "NG-CAC": r"(?:RC|IT|CAC/IT|LLP)[ /:-]?(?:NO\.? ?)?\d{2,8}",
    "KE-RCO": r"(?:C(?:PR)?|PVT|PLC|CLG|LLP)[ ./-][A-Z0-9/.-]{3,}",
    "KE-NCB": r"(?:OP[./-]?)?\d{2,3}(?:[./-]\d{1,5}){2,}",
    "UG-NGO": r"[A-Z]{3,6}\d{5,}\w*",
    "RW-RGB": r"\d+-?/?RGB[/-].+",
    "TZ-NNCB": r"\d*NGO[/-].+",
    "ZW-ROD": r"\d{1,6}/\d{2,4}",
    "ZW-PVO": r"\d{1,4}/\d{2,4}",
    "GB-COH": r"(?:\d{6,8}|[A-Z]{2}\d{6})",
    "GB-CHC": r"\d{6,7}",
    "GB-SC": r"SC\d{6}",
    "GB-NIC": r"(?:NIC)?\d{6}",
    "PT-NIPPC": r"[56]\d{8}",
    # Eight digits are a legal entity's; ten are the tax number of an entrepreneur.
    "UA-EDR": r"\d{8}",
}

# Numbers in the format of a natural person's, or of a register that lists nobody else.
_PERSONAL_NUMBERS = {
    "MX-RFC": r"[A-ZÑ&]{4}\d{6}[A-Z0-9]{3}",
    "PE-RUC": r"1[0567]\d{9}",
    "AR-CUIT": r"2[0347]-?\d{8}-?\d",
    "AR-CUIL": r".+",
    "UA-EDR": r"\d{10}",
    "KE-PIN": r"A\d{9}[A-Z]",
    "KE-KRA": r"A\d{9}[A-Z]",
    "NG-CAC": r"BN.*",
    "KE-RCO": r"BN.*",
    "PT-NIPPC": r"[123]\d{8}|45\d{7}",
    "PT-NIF": r"[123]\d{8}|45\d{7}",
    "BR-CPF": r".+",
    "CO-CC": r".+",
    "CO-CE": r".+",
    "MX-CURP": r".+",
    "PE-DNI": r".+",
    "ZA-ID": r".+",
    "ES-DNI": r"\d.*",
    "VE-RIF": r"[VE].*",
}


def is_organisation_number(scheme: str | None, identifier: str | None) -> bool:
    """Return whether the number is in a register that lists organisations only."""
    number = _normalised(identifier)
    pattern = _ORGANISATION_NUMBERS.get(scheme or "")
    # A number of nothing but zeros is a placeholder.
    if not pattern or not re.fullmatch(pattern, number) or not re.search("[1-9]", number):
        return False
    # A few digits alone prove little: the check digit must fit, too.
    is_valid = {"PT-NIPPC": nif.is_valid, "UA-EDR": edrpou.is_valid}.get(scheme or "")
    return is_valid is None or is_valid(number)


def is_personal_number(scheme: str | None, identifier: str | None) -> bool:
    """Return whether the number can only be a natural person's."""
    pattern = _PERSONAL_NUMBERS.get((scheme or "").upper())
    return bool(pattern and re.fullmatch(pattern, _normalised(identifier)))


def _normalised(identifier: str | None) -> str:
    return (identifier or "").strip().upper()
