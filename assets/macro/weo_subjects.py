"""The subjects of the IMF's World Economic Outlook by descriptor and units.

Selections from its website may leave out the codes. The pairs are those of its database; a pair
that is not here is no subject that we know, and its lines are rejected.
"""

import re

from warehouse.tables.macro import SeriesType

_NATIONAL, _DOLLARS, _GDP = "National currency", r"U\.S\. dollars", "Percent of GDP"
_INTERNATIONAL = "(Purchasing power parity; |Current )international dollars?"
_CHANGE, _INDEX, _PERSONS = "Percent change", "Index.*", "Persons"
_POTENTIAL = "Percent of potential GDP"

# Descriptor, pattern of the units, code.
_SUBJECTS = (
    ("Gross domestic product, constant prices", _NATIONAL, "NGDP_R"),
    ("Gross domestic product, constant prices", _CHANGE, "NGDP_RPCH"),
    ("Gross domestic product, current prices", _NATIONAL, "NGDP"),
    ("Gross domestic product, current prices", _DOLLARS, "NGDPD"),
    ("Gross domestic product, current prices", _INTERNATIONAL, "PPPGDP"),
    ("Gross domestic product, deflator", _INDEX, "NGDP_D"),
    ("Gross domestic product per capita, constant prices", _NATIONAL, "NGDPRPC"),
    (
        "Gross domestic product per capita, constant prices",
        "Purchasing power parity; [0-9]{4} international dollars?",
        "NGDPRPPPPC",
    ),
    ("Gross domestic product per capita, current prices", _NATIONAL, "NGDPPC"),
    ("Gross domestic product per capita, current prices", _DOLLARS, "NGDPDPC"),
    ("Gross domestic product per capita, current prices", _INTERNATIONAL, "PPPPC"),
    (
        "Gross domestic product based on purchasing-power-parity (PPP) share of world total",
        "Percent",
        "PPPSH",
    ),
    (
        "Gross domestic product corresponding to fiscal year, current prices",
        _NATIONAL,
        "NGDP_FY",
    ),
    ("Output gap in percent of potential GDP", _POTENTIAL, "NGAP_NPGDP"),
    ("Implied PPP conversion rate", "National currency per .*international dollar", "PPPEX"),
    ("Total investment", _GDP, "NID_NGDP"),
    ("Gross national savings", _GDP, "NGSD_NGDP"),
    ("Inflation, average consumer prices", _INDEX, "PCPI"),
    ("Inflation, average consumer prices", _CHANGE, "PCPIPCH"),
    ("Inflation, end of period consumer prices", _INDEX, "PCPIE"),
    ("Inflation, end of period consumer prices", _CHANGE, "PCPIEPCH"),
    ("Volume of imports of goods and services", _CHANGE, "TM_RPCH"),
    ("Volume of Imports of goods", _CHANGE, "TMG_RPCH"),
    ("Volume of exports of goods and services", _CHANGE, "TX_RPCH"),
    ("Volume of exports of goods", _CHANGE, "TXG_RPCH"),
    ("Unemployment rate", "Percent of total labor force", "LUR"),
    ("Employment", _PERSONS, "LE"),
    ("Population", _PERSONS, "LP"),
    ("General government revenue", _NATIONAL, "GGR"),
    ("General government revenue", _GDP, "GGR_NGDP"),
    ("General government total expenditure", _NATIONAL, "GGX"),
    ("General government total expenditure", _GDP, "GGX_NGDP"),
    ("General government net lending/borrowing", _NATIONAL, "GGXCNL"),
    ("General government net lending/borrowing", _GDP, "GGXCNL_NGDP"),
    ("General government structural balance", _NATIONAL, "GGSB"),
    ("General government structural balance", _POTENTIAL, "GGSB_NPGDP"),
    ("General government primary net lending/borrowing", _NATIONAL, "GGXONLB"),
    ("General government primary net lending/borrowing", _GDP, "GGXONLB_NGDP"),
    ("General government net debt", _NATIONAL, "GGXWDN"),
    ("General government net debt", _GDP, "GGXWDN_NGDP"),
    ("General government gross debt", _NATIONAL, "GGXWDG"),
    ("General government gross debt", _GDP, "GGXWDG_NGDP"),
    ("Current account balance", _DOLLARS, "BCA"),
    ("Current account balance", _GDP, "BCA_NGDPD"),
)


def subject_of(descriptor: str, units: str) -> str | None:
    """Return the code of a subject; None for a pair that the database does not have."""
    for name, pattern, code in _SUBJECTS:
        if name.casefold() == descriptor.casefold() and re.fullmatch(pattern, units, re.IGNORECASE):
            return code
    return None


def series_type_of(code: str) -> SeriesType:
    """Return the family of a subject: output, consumer prices, or anything else."""
    if code.startswith(("NGDP", "PPPGDP", "PPPPC", "PPPSH")):
        return "gdp"
    return "cpi" if code.startswith("PCPI") else "macro"
