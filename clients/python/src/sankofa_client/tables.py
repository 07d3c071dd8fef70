"""Rows as the tables that analysts make of them: wide statements, flat tenders and suppliers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

Award = Mapping[str, Any]


def wide_statement(facts: pd.DataFrame, line_items: Sequence[str]) -> pd.DataFrame:
    """Return figures of one currency and basis with a row a line and a column a period.

    Lines are in the order of ``line_items``, periods ascend. Where two figures have one line and
    one period, such as in two purchasing powers, the one published last is taken.
    """
    newest = facts.sort_values("available_at", kind="stable").drop_duplicates(
        ["line_item", "period_end"], keep="last"
    )
    table = newest.pivot(index="line_item", columns="period_end", values="value_reported")
    known = [name for name in line_items if name in table.index]
    table = table.loc[[*known, *table.index.difference(known)]].sort_index(axis="columns")
    table.attrs.update(facts.attrs)
    return table


def of_one_unit(
    facts: pd.DataFrame, currency: str | None = None, basis: str | None = None
) -> pd.DataFrame:
    """Return the figures of one basis and of one currency, with those that are not of money.

    By default they are those of the period that ended last; if it has several, that of most figures
    of all periods, since a translation for convenience is of few. If two have equally many, there
    is no default.
    """
    attrs = dict(facts.attrs)
    choices = (("basis", basis, "basis"), ("currency_reported", currency, "currency"))
    for column, wanted, name in choices:
        counts, stated = facts[column].value_counts(), facts[facts[column].notna()]
        last = stated[stated["period_end"] == stated["period_end"].max()]
        candidates = counts[counts.index.isin(last[column])] if wanted is None else counts
        attrs[name] = _chosen(candidates, wanted, name)
        attrs[f"other_{name}"] = sorted(set(counts.index) - {attrs[name]})
        facts = facts[facts[column].isna() | (facts[column] == attrs[name])]
    facts.attrs.update(attrs)
    return facts


def _chosen(counts: "pd.Series[int]", wanted: str | None, name: str) -> str | None:
    found = [str(value) for value in counts.index]
    if wanted is not None:
        if found and wanted not in found:
            raise ValueError(f"No figure has the {name} {wanted!r}; there are {', '.join(found)}.")
        return wanted
    if len(counts) > 1 and counts.iloc[0] == counts.iloc[1]:
        raise ValueError(
            f"Equally many figures have the {name} {found[0]} and {found[1]}; pass {name}= for "
            "one of them."
        )
    return found[0] if found else None


def flat_tenders(frame: pd.DataFrame, decimals: bool) -> pd.DataFrame:
    """Return releases with columns of plain values in place of OCDS objects.

    ``award_value`` is the sum of the awards that state a value, if these are in one currency.
    """
    buyer, tender, awards = frame["buyer"], frame["tender"], frame["awards"].map(_listed)
    totals = awards.map(_total)
    flat = {
        "buyer_name": _member(buyer, "name"),
        "buyer_id": _member(buyer, "id"),
        "title": _member(tender, "title"),
        "status": _member(tender, "status"),
        "procurement_method": _member(tender, "procurementMethod"),
        "value": _numbers(_member(tender, "value", "amount"), decimals),
        "currency": _member(tender, "value", "currency"),
        "tender_start": _days(_member(tender, "tenderPeriod", "startDate")),
        "tender_end": _days(_member(tender, "tenderPeriod", "endDate")),
        "tenderers": _numbers(_member(tender, "numberOfTenderers"), decimals),
        "award_count": awards.map(len).astype("int64"),
        "award_value": _numbers(_member(totals, "amount"), decimals),
        "award_currency": _member(totals, "currency"),
        "award_date": _days(awards.map(_last_day)),
        "suppliers": awards.map(_suppliers).astype(object),
    }
    table = frame.drop(columns=["buyer", "tender", "awards", "contracts"]).assign(**flat)
    table.attrs.update(frame.attrs)
    return table


def flat_suppliers(frame: pd.DataFrame, decimals: bool) -> pd.DataFrame:
    """Return suppliers with a row for each currency in which they won, the sum as ``value``."""
    table = frame.drop(columns=["identifier", "listings"]).explode("totals", ignore_index=True)
    totals = table.pop("totals")
    table["currency"] = _member(totals, "currency")
    table["valued_awards"] = _numbers(_member(totals, "awards"), decimals)
    table["value"] = _numbers(_member(totals, "value"), decimals)
    table.attrs.update(frame.attrs)
    return table


def _member(objects: "pd.Series[Any]", *path: str) -> "pd.Series[Any]":
    """Return a member of the objects of a column, None where there is none."""
    for name in path:
        objects = objects.map(
            lambda value, name=name: value.get(name) if isinstance(value, dict) else None
        ).astype(object)
    return objects


def _listed(value: Any) -> list[Award]:
    return value if isinstance(value, list) else []


def _numbers(values: "pd.Series[Any]", decimals: bool) -> "pd.Series[Any]":
    return values if decimals else values.astype("float64")


def _days(values: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return the days of texts; a moment is of the day on which its publisher dates it."""
    days = values.map(lambda value: str(value)[:10] if value else None)
    return pd.to_datetime(days, errors="coerce").astype("datetime64[us]")


def _total(awards: Iterable[Award]) -> dict[str, Any]:
    stated = [award["value"] for award in awards if award.get("value")]
    valued = [value for value in stated if value.get("amount") is not None]
    currencies = {value.get("currency") for value in valued}
    if len(currencies) != 1:
        return {}
    return {"amount": sum(value["amount"] for value in valued), "currency": currencies.pop()}


def _last_day(awards: Iterable[Award]) -> str | None:
    return max((str(award["date"]) for award in awards if award.get("date")), default=None)


def _suppliers(awards: Iterable[Award]) -> str | None:
    """Return the names of all suppliers, each once."""
    parties = [party for award in awards for party in award.get("suppliers") or ()]
    names = dict.fromkeys(str(party["name"]) for party in parties if party.get("name"))
    return "; ".join(names) or None
