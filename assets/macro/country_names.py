"""Countries as international organisations call them in words.

ISO's own names come from ``pycountry``; the table adds those that the IMF, the OECD and the World
Bank write otherwise. A name that is in neither, such as that of a group, is no country.
"""

from assets.macro.iso_codes import Area, area_of, area_of_name
from warehouse.csv_files import csv_rows

_OTHER_NAMES = {row["name"]: row["country"] for row in csv_rows(__name__, "country_names")}


def area_named(name: str) -> Area | None:
    """Return the country of a name; None for a group of countries or an unknown name."""
    plain = " ".join(name.replace("\u2019", "'").split())
    other = _OTHER_NAMES.get(plain)
    return area_of(other) if other else area_of_name(plain)
