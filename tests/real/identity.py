"""How far real organisations are identified, and every join, to be read by hand.

``python -m tests.real.identity MARTS`` reports on the published build of a home that was loaded
from ``tests.helpers.real_recordings``: issuers that an identifier leads to, parties that are
resolved, joins by their evidence.

``python -m tests.real.identity --filers FILE`` joins every filer of a quarter of the SEC's data on
financial statements, which state the country, with the lists of exchanges that are there, and
writes each join with both names to the file.
"""

import csv
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb

from assets.entities.identifiers import is_isin, mint
from tests.helpers.paths import REAL
from tests.helpers.reads import lookup
from tests.helpers.registers import entity, identifier, joins
from tests.helpers.whole_tables import query
from warehouse.serve.build import Mart
from warehouse.shared.data_files import csv_rows

Row = dict[str, Any]
# The country of each market, by its MIC.
_COUNTRIES = {row["mic"]: row["country"] for row in csv_rows("assets.entities.identifiers", "mics")}
_FILERS = "more/sec/fsds/2021q1_sub.txt.parquet"


def report(marts: str) -> None:
    """Print what the current build knows of its issuers and parties."""
    with closing(Mart(marts)) as mart:
        build = mart.build()
        issuers = [
            str(row[0]) for row in query(build, "SELECT DISTINCT organisation FROM fundamentals")
        ]
        records = {
            record["service_id"]: record
            for (row,) in query(build, "SELECT row FROM entities")
            for record in [json.loads(row)]
        }
        print(f"issuers with figures: {len(issuers)}, named: {sum(i in records for i in issuers)}")
        for id_type in ("lei", "isin", "figi", "ticker", "cik"):
            reached = sum(_is_reached(mart, issuer, id_type) for issuer in issuers)
            print(f"  reachable by {id_type:7} {reached:5}")
        home = sum(_has_home_listing(records.get(issuer, {})) for issuer in issuers)
        print(f"  reachable by home ticker {home:5}")
        methods = Counter(
            join["match_method"] for record in records.values() for join in record["joins"]
        )
        print(f"joins by match_method: {dict(methods)}")
        for record in records.values():
            for join in record["joins"]:
                names = [record["legal_name"], *(record["other_names"] or [])]
                print(f"  {join['match_method']:11} {record['service_id']} {' = '.join(names)}")
        parties = [json.loads(row) for (row,) in query(build, "SELECT row FROM tender_parties")]
        resolved = Counter(party["match_method"] or "not resolved" for party in parties)
        print(f"parties: {len(parties)}, by match_method: {dict(resolved)}")
        for party in parties:
            if party["service_id"]:
                name = records[party["service_id"]]["legal_name"]
                print(f"  {party['match_method']:11} {party['name']} = {name}")


def _is_reached(mart: Mart, issuer: str, id_type: Any) -> bool:
    """Return whether each identifier of a type of an issuer leads to it alone."""
    statement = "SELECT id_match FROM identifiers WHERE organisation = ? AND id_type = ?"
    values = [str(value) for (value,) in query(mart.build(), statement, issuer, id_type)]
    found = [
        {json.loads(row)["service_id"] for row in lookup(mart, id_type, value).rows.rows}
        for value in values
    ]
    return bool(found) and all(ids == {issuer} for ids in found)


def _has_home_listing(record: Row) -> bool:
    home = {record.get("country"), (record.get("jurisdiction") or "")[:2]}
    return any(_COUNTRIES.get(listing["mic"]) in home for listing in record.get("listings", ()))


def join_filers(path: Path) -> None:
    """Join filers with the lists, print the counts, and write every join to a file."""
    entities, identifiers = [*_filers(), *_lei_records(), *_supervised()], list[Row]()
    for source, country, rows in _lists():
        for name, isin, listing in rows:
            service_id = mint("isin", isin) if isin else mint("ticker", listing)
            entities.append(entity(service_id, name, None, country=country, source=source))
            identifiers.append(
                identifier(service_id, "ticker", listing, listing[:4], source=source)
            )
            if isin:
                identifiers.append(identifier(service_id, "isin", isin, source=source))
    identifiers += [
        identifier(row["service_id"], "cik", row["cik"], source=row["source"])
        for row in entities
        if "cik" in row
    ]
    names: dict[str, set[str]] = {}
    for row in entities:
        names.setdefault(row["service_id"], set()).add(row["legal_name"])
    made = joins(identifiers, entities)
    print(f"{len(entities)} records, joins: {dict(Counter(row['match_method'] for row in made))}")
    with path.open("w", encoding="utf-8", newline="") as file:
        for row in made:
            pair = (" | ".join(sorted(names[row[key]])) for key in ("service_id", "same_as"))
            csv.writer(file, "excel-tab").writerow((row["match_method"], *pair))
    print(f"written to {path}")


def _filers() -> Iterator[Row]:
    """Yield the filers as their register states them."""
    statement = f"""
        SELECT DISTINCT cik, name, countryinc, countryba, former FROM '{REAL / _FILERS}'"""
    for cik, name, jurisdiction, country, former in duckdb.execute(statement).fetchall():
        row = entity(mint("cik", f"{cik:010}"), name, jurisdiction, country=country)
        others = json.dumps([former]) if former else None
        yield row | {"source": "sec-submissions", "other_names": others, "cik": str(cik)}


def _lei_records() -> Iterator[Row]:
    """Yield the organisations of GLEIF's golden copy."""
    (path,) = REAL.glob("gleif/goldencopy_lei2_*.json")
    for record in json.loads(path.read_bytes())["records"]:
        lei, stated = record["LEI"]["$"], record["Entity"]
        if stated.get("EntityCategory", {}).get("$") != "SOLE_PROPRIETOR":
            country = stated["LegalAddress"]["Country"]["$"]
            name = stated["LegalName"]["$"]
            yield entity(mint("lei", lei), name, country, lei=lei, source="gleif")


def _supervised() -> Iterator[Row]:
    """Yield the companies of Brazil's securities commission, by their register number."""
    path = sorted(REAL.glob("more/br_cvm/cad/cad_cia_aberta_*.csv.gz"))[-1]
    with gzip.open(path, "rt", encoding="latin-1") as file:
        for row in csv.DictReader(file, delimiter=";"):
            service_id = mint("registry", f"BR-CNPJ:{row['CNPJ_CIA']}")
            yield entity(service_id, row["DENOM_SOCIAL"], "BR", source="cvm")


def _lists() -> Iterator[tuple[str, str, list[tuple[str, str | None, str]]]]:
    """Yield source, country, and (name, ISIN, MIC:TICKER) of each listed security."""
    nse = sorted(REAL.glob("more/identity/in_nse/*.csv.gz"))[-1]
    with gzip.open(nse, "rt", encoding="utf-8") as file:
        yield (
            "nse",
            "IN",
            list(_valid(_columns(file, "NAME OF COMPANY", "ISIN NUMBER", "SYMBOL"), "XNSE")),
        )
    (b3,) = REAL.glob("more/identity/br_b3/*.csv.gz")
    with gzip.open(b3, "rt", encoding="utf-8", errors="replace") as file:
        rows = [row for row in csv.DictReader(file) if row["SctyCtgyNm"] == "SHARES"]
        cells = [(row["CrpnNm"], row["ISIN"], row["TckrSymb"]) for row in rows]
        yield "b3", "BR", list(_valid(cells, "BVMF"))
    for code, mic, country in (("JNB", "XJSE", "ZA"), ("CAI", "XCAI", "EG")):
        with (REAL / "exchanges" / f"{code}.csv").open(encoding="utf-8") as file:
            yield (
                f"list{code}",
                country,
                list(_valid(_columns(file, "name", "isin", "symbol"), mic)),
            )


def _columns(file: Iterable[str], *names: str) -> list[tuple[str, ...]]:
    reader = csv.DictReader(file, skipinitialspace=True)
    return [tuple(row[name] for name in names) for row in reader]


def _valid(cells: Iterable[tuple[str, ...]], mic: str) -> Iterator[tuple[str, str | None, str]]:
    for name, isin, ticker in cells:
        if name and ticker:
            yield name, isin if is_isin(isin) else None, f"{mic}:{ticker}"


if __name__ == "__main__":
    if sys.argv[1] == "--filers":
        join_filers(Path(sys.argv[2]))
    else:
        report(*sys.argv[1:])
