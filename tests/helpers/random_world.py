"""A small world with everything that is served, generated from a seed."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from tests.helpers.facts import fact
from tests.helpers.publishing import publish
from tests.helpers.record_rows import (
    element_of,
    entity_row,
    filing_row,
    load,
    party_row,
    release_row,
    series_row,
    sighting,
)
from warehouse.publish.partitions import REGISTERS
from warehouse.publish.snapshot import Derivation, Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import (
    ELEMENTS,
    ENTITIES,
    FILINGS,
    FUNDAMENTALS,
    IDENTIFIERS,
    MACRO_ANNUAL,
    MACRO_SERIES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    arrow_schema,
)
from warehouse.tables.derived import DERIVED

ISSUERS = ("DCA1", "DCB2", "DCC3")
ITEMS = ("revenue", "profit", "total_assets")
FIRST_DAY = date(2018, 1, 1)
DAYS = 1500
# Tables without vintages: as_of does not apply to them.
TIMELESS = (ENTITIES, IDENTIFIERS, MACRO_ANNUAL)


def day(random: Random) -> date:
    return FIRST_DAY + timedelta(random.randrange(DAYS))


def facts_of(random: Random) -> list[dict[str, Any]]:
    """Return figures with several vintages each, in filings on random days."""
    filings = [
        (issuer, year, number, day(random))
        for issuer in ISSUERS
        for year in (2015, 2016, 2017)
        for number in range(random.randrange(2, 5))
    ]
    return [
        fact(
            str(random.randrange(10**15) / Decimal(100)),
            item=item,
            year=year,
            issuer=issuer,
            available_at=filed,
            publication=f"p{year}-{number}",
            document=f"d{year}-{number}",
        )
        for issuer, year, number, filed in filings
        for item in ITEMS
    ]


def filings_of() -> list[dict[str, Any]]:
    """Return filings in several versions; one was listed under another form at first."""
    return [
        filing_row(
            service_id=issuer,
            form=form,
            period_end=date(year, 12, 31),
            document_id=f"{issuer}-{year}-{version}",
            version=version,
            received_on=date(year + 1, 3, 1) + timedelta(version // 2),
            available_at=date(year + 3, 1, 1) + timedelta(40 * version + later),
            publication=f"{issuer}/{year}/{version:04}/{later}",
            link=f"https://fictional.example/{issuer}/{year}/{version}",
        )
        for issuer in ISSUERS
        for year in (2015, 2016, 2017)
        for version in range(1, 5)
        for form, later in (("ITR" if version == 2 else "DFP", 0), ("DFP", 500))
    ]


def series_of(random: Random) -> list[dict[str, Any]]:
    """Return two series with revisions."""
    return [
        series_row(
            str(random.randrange(10**6) / Decimal(1000)),
            FIRST_DAY + timedelta(offset),
            series=f"FX.EUR.{code}",
            available_at=day(random),
            publication=f"v{number}",
        )
        for code in ("ZAR", "KES")
        for offset in range(8)
        for number in range(random.randrange(1, 3))
    ]


WORDS = ("Construction", "of", "rural", "école", "Roads", "water", "supply", "Ärzte", "clinic")


def releases_of(random: Random) -> list[dict[str, Any]]:
    """Return releases on few days, so that many share one; some have two vintages."""
    rows = []
    for number in range(40):
        title = " ".join(random.sample(WORDS, 3))
        value = f"{number}.50"
        for vintage in range(random.randrange(1, 3)):
            body = (
                f'{{"buyer":{{"name":"Roads Agency {number % 3}"}},"tender":{{"title":"{title}",'
                f'"value":{{"amount":{value},"currency":"ZAR"}}}},"awards":[{{"id":"a{number}",'
                f'"value":{{"amount":{1000 + vintage}.25,"currency":"ZAR"}},'
                '"suppliers":[{"name":"Alpha Fictional Works Ltd"}]}]}'
            )
            rows.append(
                release_row(
                    number,
                    released_on=FIRST_DAY + timedelta(random.randrange(6)),
                    category=random.choice(("works", "goods")),
                    release=body,
                    tender_value=Decimal(value) if number % 2 else None,
                    tender_currency="ZAR",
                    available_at=day(random),
                    publication=f"r{vintage}",
                )
            )
    return rows


def everything(random: Random) -> dict[Any, list[dict[str, Any]]]:
    """Return the rows of every table of the record."""
    releases, figures = releases_of(random), facts_of(random)
    year = {"period_start": date(2010, 1, 1), "period_end": date(2010, 12, 31)}
    annual = series_row("1.50", FIRST_DAY, available_at=None, indicator="NY.GDP", **year)
    for column in ("series", "series_type", "frequency"):
        del annual[column]
    ids = [
        ("DCA1", "lei", "2138002QX8KZTPLXS721", None),
        ("DCA1", "ticker", "XJSE:ALP", "XJSE"),
        ("DCA1", "registry", "2001/123456/07", "RA000604"),
        ("DCB2", "registry", "2001/123456/07", "RA000605"),
        ("DCB2", "isin", "ZAE000000001", None),
        ("DCX9", "isin", "ZAE000000009", None),
    ]
    names = ("Alpha Fictional Works Ltd", "Société Fictive Ärzte", "Gamma Fictional Roads")
    parties = [
        party_row(
            ocid=row["ocid"],
            party_key=key,
            role=role,
            name=name,
            released_on=row["released_on"],
            source_ref=f"https://example.org/{row['ocid']}.json#/{row['released_on']}",
            available_at=row["available_at"],
            publication=row["publication"],
        )
        for row in releases
        for key, role, name in (
            ("s1", "supplier", "Alpha Fictional Works Ltd"),
            (f"b{row['ocid'][-1]}", "buyer", f"Roads Agency {int(row['ocid'][-4:]) % 3}"),
        )
    ]
    return {
        FUNDAMENTALS: figures,
        FILINGS: filings_of(),
        ELEMENTS: [element_of(figure) for figure in figures],
        MACRO_SERIES: series_of(random),
        MACRO_ANNUAL: [annual],
        TENDER_RELEASES: releases,
        TENDER_PARTIES: _first_of_each(parties),
        ENTITIES: [
            entity_row(
                service_id=service_id,
                legal_name=name,
                country=country,
                lei="2138002QX8KZTPLXS721" if service_id == "DCA1" else None,
            )
            for service_id, name, country in zip(ISSUERS, names, ("ZA", "KE", "ZA"), strict=True)
        ],
        IDENTIFIERS: [
            sighting(
                service_id=service_id, id_type=id_type, id_value=value, issuer=issuer, status=None
            )
            for service_id, id_type, value, issuer in ids
        ],
    }


def _first_of_each(parties: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep the first row of each party: parties have no vintages of their own."""
    newest_first = sorted(parties, key=lambda party: party["available_at"], reverse=True)
    first = {(party["ocid"], party["party_key"], party["role"]): party for party in newest_first}
    return list(first.values())


def derived_of(random: Random, data_version: str = "20260101.1") -> dict[str, pa.Table]:
    """Return derived rows: intervals of metrics, vintages of signals, a match, a pointer."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in DERIVED}
    for issuer in ISSUERS:
        first, second = sorted((day(random), day(random)))
        for period, begins, ends in ((2016, first, second), (2017, second, None)):
            rows["metrics"].append(_metric(random, issuer, period, begins, ends))
        rows["metrics_absent"].append(
            {
                "service_id": issuer,
                "metric": "net_margin",
                "period_end": date(2015, 12, 31),
                "reason": "input_not_reported",
                "holds_from": FIRST_DAY,
                "holds_until": first,
            }
        )
    for month in range(1, 10):
        closed = date(2018, month + 1, 5)
        revised = closed + timedelta(random.randrange(1, 400))
        for vintage, begins, ends in ((1, closed, revised), (2, revised, None)):
            rows["signals"].append(_signal(random, date(2018, month, 1), vintage, begins, ends))
    rows["party_matches"].append(
        {
            **dict.fromkeys(DERIVED["party_matches"].model_fields),
            **{"source": "test", "country": "ZA", "party_key": "s1"},
            **{"name": "Alpha Fictional Works Ltd", "service_id": "DCA1"},
            "match_method": "exact_name",
        }
    )
    for metric, value in (("provenance_complete", Decimal(1)), ("coverage", None)):
        for version in ("20190101.1", data_version):
            rows["quality"].append(_measured(metric, value, version))
    return {
        name: pa.Table.from_pylist(table_rows, arrow_schema(DERIVED[name]))
        for name, table_rows in rows.items()
        # Which ids are one organisation is derived before everything else.
        if name != "same_as"
    }


def _metric(
    random: Random, issuer: str, period: int, begins: date, ends: date | None
) -> dict[str, Any]:
    inputs = '[{"fact_id":"f","value":1234567890123456.78,"source_ref":"d#/2"}]'
    return {
        **{"service_id": issuer, "metric": "net_margin", "unit": "ratio", "currency": "ZAR"},
        **{"value": str(random.randrange(-(10**10), 10**10) / Decimal(10**10))},
        **{"basis": "consolidated/ifrs", "period_type": "FY"},
        **{"period_start": date(period, 1, 1), "period_end": date(period, 12, 31)},
        **{"published_at": begins, "available_at": begins, "answers_from": begins},
        **{"answers_until": ends, "methodology_ref": "metrics-v1/net_margin", "inputs": inputs},
        **{"license_class": "cc-by", "source_ref": "d#/1", "method": "xbrl"},
        **{"observed_at": datetime(2026, 1, 1, tzinfo=UTC), "provenance_id": "p"},
        "extraction_confidence": None,
    }


def _signal(
    random: Random, month: date, vintage: int, begins: date, ends: date | None
) -> dict[str, Any]:
    return {
        **{"signal_key": "procurement-demand", "country": "ZA", "month": month},
        **{"closed_at": date(2018, month.month + 1, 5), "dimension": "category"},
        **{"dimension_value": "works", "service_id": None, "measure": "category_share_count"},
        **{"value": Decimal(random.randrange(10**6)) / 10**6, "unit": "share", "currency": None},
        **{"numerator": None, "denominator": None},
        **{"n_eligible": 4, "n_observed": 2, "coverage": Decimal("0.5"), "n_withheld": 0},
        **{"vintage": vintage, "available_at": begins, "superseded_at": ends},
        **{"methodology_ref": "signals-v1/procurement-demand", "license_class": "cc-by"},
        **{"source_ref": "test", "observed_at": datetime(2026, 1, 1, 6, tzinfo=UTC)},
        **{"method": "api", "extraction_confidence": None, "provenance_id": "test"},
    }


def _measured(metric: str, value: Decimal | None, version: str) -> dict[str, Any]:
    return {
        **{"sku": "AF-FUND", "dimension": "completeness", "metric": metric, "scope": "all"},
        **{"value": value, "unit": "share", "floor": Decimal(1), "n_checked": 1, "n_passed": 1},
        **{"status": "PASS" if value else "UNMEASURED", "data_version": version},
        "measured_at": datetime(2026, 1, 1, 6, tzinfo=UTC),
    }


def joined(_: Snapshot) -> Mapping[str, pa.Table]:
    """Return that two ids are one organisation."""
    same_as = {"service_id": "DCX9", "same_as": "DCB2", "match_method": "declared"}
    return {"same_as": pa.Table.from_pylist([same_as], arrow_schema(DERIVED["same_as"]))}


def publish_world(
    root: Path,
    marts: str | Path,
    seed: int,
    until: date | None = None,
    derive: Callable[[Snapshot], Mapping[str, pa.Table]] | None = None,
) -> str:
    """Publish the world of a seed, or the part of it that was public on a day."""
    record = Record(str(root))
    for table, rows in everything(Random(seed)).items():
        public = [
            row
            for row in rows
            if until is None or table in TIMELESS or row["available_at"] <= until
        ]
        if public:
            load(record, table, *public)

    def invented(snapshot: Snapshot) -> Mapping[str, pa.Table]:
        return derived_of(Random(seed), snapshot.data_version)

    derivations = [Derivation("invented", invented)]
    if derive is not None:
        derivations.append(Derivation("derived", derive))
    return publish(
        record,
        marts,
        joins=Derivation("joined", joined, ("same_as",), REGISTERS),
        derivations=derivations,
        work=root.parent / "work",
    )
