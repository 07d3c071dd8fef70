"""What a register number says: schemes of organisations only, and numbers that people bear.

Registers of business names (Botswana, Ghana, Tanzania, Uganda, Zambia), tax numbers and
suppliers' lists hold sole traders as well and are evidence of nothing; in Nigeria and Kenya
the letters before the number tell companies from business names (BN).
"""

import re

from stdnum.pt import nif

_ORGANISATIONS = {
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
}

# Numbers whose shape is that of a natural person, or whose register holds nobody else.
_PEOPLE = {
    "MX-RFC": r"[A-ZÑ&]{4}\d{6}[A-Z0-9]{3}",
    "PE-RUC": r"1[0567]\d{9}",
    "AR-CUIT": r"2[0347]-?\d{8}-?\d",
    "AR-CUIL": r".+",
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


def of_organisations(scheme: str | None, identifier: str | None) -> bool:
    """Tell whether the number is one of a register that holds organisations only."""
    number = _number(identifier)
    shape = _ORGANISATIONS.get(scheme or "")
    if not shape or not re.fullmatch(shape, number) or not re.search("[1-9]", number):
        return False
    return scheme != "PT-NIPPC" or nif.is_valid(number)


def of_a_person(scheme: str | None, identifier: str | None) -> bool:
    """Tell whether the number can only be a natural person's."""
    shape = _PEOPLE.get((scheme or "").upper())
    return bool(shape and re.fullmatch(shape, _number(identifier)))


def _number(identifier: str | None) -> str:
    return (identifier or "").strip().upper()
