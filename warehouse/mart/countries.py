"""The countries that a build knows: both codes of each, and its name."""

import pyarrow as pa
import pycountry


def countries() -> pa.Table:
    """Give the two codes of each country and its name."""
    known = [
        {"country": each.alpha_2, "country_iso3": each.alpha_3, "name": each.name}
        for each in pycountry.countries
    ]
    return pa.Table.from_pylist(known)
