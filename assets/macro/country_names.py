"""Countries as international organisations call them in words.

ISO's own names come from ``pycountry``; the table adds those that the IMF, the OECD and the World
Bank write otherwise. A name that is in neither, such as that of a group, is no country.
"""

from assets.macro.iso_codes import Area, area_of, area_of_name

_OTHER_NAMES = {
    "Bahamas": "BS",
    "Cape Verde": "CV",
    "China (People's Republic of)": "CN",
    "Congo, Democratic Republic of the": "CD",
    "Congo, Republic of": "CG",
    "Czech Republic": "CZ",
    "Democratic Republic of the Congo": "CD",
    "FYR Macedonia": "MK",
    "Gambia": "GM",
    "Hong Kong SAR": "HK",
    "Hong Kong, China": "HK",
    "Islamic Republic of Iran": "IR",
    "Korea": "KR",
    "Kosovo": "XK",
    "Kosovo, Republic of": "XK",
    "Lao P.D.R.": "LA",
    "Macao SAR": "MO",
    "Micronesia": "FM",
    "Republic of Congo": "CG",
    "Russia": "RU",
    "St. Kitts and Nevis": "KN",
    "St. Lucia": "LC",
    "St. Vincent and the Grenadines": "VC",
    "Swaziland": "SZ",
    "São Tomé and Príncipe": "ST",
    "Taiwan Province of China": "TW",
    "The Bahamas": "BS",
    "The Gambia": "GM",
    "Turkey": "TR",
    "West Bank and Gaza": "PS",
}


def area_named(name: str) -> Area | None:
    """Return the country of a name; None for a group of countries or an unknown name."""
    plain = " ".join(name.replace("\u2019", "'").split())
    other = _OTHER_NAMES.get(plain)
    return area_of(other) if other else area_of_name(plain)
