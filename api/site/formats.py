"""Values and titles as people read them; every page has the exact digits too."""

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import pycountry

from warehouse.shared.data_files import csv_rows
from warehouse.shared.json_encoding import encode_decimal

Number = Decimal | int | float
_NONE = "–"
_MILLIONS_FROM = 10**8
_INNER_CAPITAL = re.compile(r"(?<=[a-z])[A-Z]")


def titles(kind: str) -> dict[str, str]:
    """Return the titles of a kind, by key."""
    return {row["key"]: row["title"] for row in csv_rows(__name__, "titles") if row["kind"] == kind}


# Keys whose words alone do not say what they are.
_KNOWN_WORDS = titles("word")
# Titles of macro series and indicators, from whose sources only figures are fetched; those of
# indicators are the World Bank's, without the unit.
SERIES_TYPES, _INDICATORS = titles("series"), titles("indicator")


def digits(value: Number | None) -> str:
    """Return every digit of a number, without separators and without an exponent."""
    return "" if value is None else encode_decimal(Decimal(str(value))).decode()


def number(value: Number | None) -> str:
    """Return a number with all its digits and separators between thousands."""
    if value is None:
        return _NONE
    whole, point, part = digits(value).partition(".")
    return f"{int(whole):,}{point}{part}" if whole not in ("-0", "") else digits(value)


def decimals_of(values: Iterable[Number | None], most: int) -> int:
    """Return with how many decimals a column is written, so that its numbers are aligned."""
    parts = [digits(value).partition(".")[2] for value in values]
    return min(most, max(map(len, parts), default=0))


def scale_of(values: Iterable[Number | None]) -> int:
    """Return by what the numbers of a table are divided: a million if they are large, else 1."""
    numbers = (Decimal(str(value)) for value in values if value is not None)
    is_large = any(abs(exact) >= _MILLIONS_FROM for exact in numbers)
    return 10**6 if is_large else 1


def amount(value: Number | None, scale: int = 1, decimals: int | None = None) -> str:
    """Return a number for people: separators, and no more decimals than its size needs.

    With ``decimals`` it has as many as its column.
    """
    if value is None:
        return _NONE
    scaled = Decimal(str(value)) / scale
    if decimals is not None:
        return f"{scaled:,.{decimals}f}"
    size = abs(scaled)
    if size >= 1000 or scaled == scaled.to_integral_value():
        return f"{scaled:,.0f}" if scale == 1 or size >= 1000 else f"{scaled:,.1f}"
    decimals = 1 if size >= 100 else 2 if size >= 10 else 4
    text = f"{scaled:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if scale == 1 else f"{scaled:,.1f}"


def percent(value: Number | None) -> str:
    """Return a share as a percentage."""
    return _NONE if value is None else f"{Decimal(str(value)) * 100:,.1f} %"


def change(value: Number | None) -> str:
    """Return a relative change as a percentage with its sign."""
    return _NONE if value is None else f"{Decimal(str(value)) * 100:+,.1f} %"


def day(value: date | datetime | str | None) -> str:
    """Return a day as YYYY-MM-DD."""
    if value is None:
        return _NONE
    return value[:10] if isinstance(value, str) else value.strftime("%Y-%m-%d")


def country_name(code: str | None) -> str:
    """Return the name of a country; an unknown code as it is, and "no country" for none."""
    by_code = "alpha_2" if code is None or len(code) == 2 else "alpha_3"
    found: dict[str, Any] = {by_code: code}
    country = pycountry.countries.get(**found) if code else None
    if country is None:
        return code or "no country"
    # ISO writes "Tanzania, United Republic of"; the common name is what readers look for.
    return str(getattr(country, "common_name", country.name))


def words(name: str) -> str:
    """Return a key such as ``profit_before_tax`` or ``procuringEntity`` as words."""
    if name in _KNOWN_WORDS:
        return _KNOWN_WORDS[name]
    text = name.replace("_", " ").replace("-", " ")
    text = _INNER_CAPITAL.sub(lambda capital: f" {capital[0].lower()}", text)
    return text[:1].upper() + text[1:]


def source_name(reference: str) -> str:
    """Return a short name of a document: its host and the end of its path."""
    parts = urlsplit(reference)
    return f"{parts.netloc}/…/{parts.path.rsplit('/', 1)[-1]}" if parts.netloc else reference


def headline(tender: Mapping[str, Any], ocid: str) -> str:
    """Return what a tender is about: its title or, if that is a mere number, its description."""
    title, description = tender.get("title"), tender.get("description")
    is_number = title is None or " " not in title.strip()
    return (description or title or ocid) if is_number else str(title)


def series_title(entry: Mapping[str, Any]) -> str:
    """Return what a series of the catalogue is; its key if no more is known."""
    if entry["type"] == "fx":
        return f"{SERIES_TYPES['fx']}, {entry['unit']}"
    if entry["type"] not in SERIES_TYPES:
        return str(entry["name"])
    return f"{SERIES_TYPES[entry['type']]}, {country_name(entry['country'])}"


def indicator_title(code: str) -> str:
    """Return what an indicator is; its code if no more is known."""
    return _INDICATORS.get(code, code)
