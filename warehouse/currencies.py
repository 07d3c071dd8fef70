"""The currency of every country, as ISO 4217 lists them (2025); ``XK`` is Kosovo.

Where two are legal tender, ``currencies.csv`` has the one in which the state budgets.
"""

from collections.abc import Mapping

from warehouse.csv_files import csv_rows

HOME_CURRENCY: Mapping[str, str] = {
    country: row["currency"]
    for row in csv_rows(__name__, "currencies")
    for country in row["countries"].split()
}
