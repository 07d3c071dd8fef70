"""How far real organisations are identified, and every join, to be read by hand.

``python -m tests.real.identity MARTS`` reports on the published build of a home that was loaded
from ``tests.helpers.real_recordings``: issuers that an identifier leads to, parties that are
resolved, joins by their evidence.

``python -m tests.real.identity --registers FILE`` joins all real registers and lists with every
filer of a quarter of the SEC's data on financial statements, which state the country; it prints how
many issuers of each have no name, and which joined names share no word, and writes each join with
both names to the file.
"""

import csv
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb

from assets.entities.identifiers import mint
from assets.ingest.sources import source_of, sources_of
from assets.parsing.parsed import Parsed
from tests.helpers.parsed_rows import untyped
from tests.helpers.paths import REAL
from tests.helpers.reads import lookup
from tests.helpers.real_recordings import PORTALS, RealRecording, real_lists, real_recordings
from tests.helpers.registers import entity, identifier, joined
from tests.helpers.whole_tables import query
from warehouse.names.search_words import FORM_WORDS, name_key
from warehouse.record.landing import Document
from warehouse.record.tables import ENTITIES, IDENTIFIERS
from warehouse.serve.build import Mart
from warehouse.shared.data_files import csv_rows
from warehouse.shared.settings import read_settings

Row = dict[str, Any]
# The country of each market, by its MIC.
_COUNTRIES = {row["mic"]: row["country"] for row in csv_rows("assets.entities.identifiers", "mics")}
_FILERS = "more/sec/fsds/2021q1_sub.txt.parquet"


def report(marts: str) -> None:
    """Print what the current build knows of its issuers and parties."""
    with closing(Mart(marts)) as mart:
        build = mart.build()
        issuers = [
            str(row[0]) for row in query(build, "SELECT DISTINCT service_id FROM fundamentals")
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
    statement = "SELECT id_match FROM identifiers WHERE service_id = ? AND id_type = ?"
    values = [str(value) for (value,) in query(mart.build(), statement, issuer, id_type)]
    found = [
        {json.loads(row)["service_id"] for row in lookup(mart, id_type, value).rows.rows}
        for value in values
    ]
    return bool(found) and all(ids == {issuer} for ids in found)


def _has_home_listing(record: Row) -> bool:
    home = {record.get("country"), (record.get("jurisdiction") or "")[:2]}
    return any(_COUNTRIES.get(listing["mic"]) in home for listing in record.get("listings", ()))


def join_registers(path: Path) -> None:
    """Join all real registers, print the counts, and write every join and veto to a file."""
    entities, identifiers = list[Row](), list[Row]()
    for source, day, parsed in _parsed_registers():
        for table, rows in (("entities", entities), ("identifiers", identifiers)):
            rows += ({**row, "source": source, "day": day} for row in parsed.rows.get(table, ()))
    _print_nameless(entities, identifiers)
    entities, identifiers = _dated(entities), _dated(identifiers)
    for row in _filers():
        entities.append(row)
        identifiers.append(
            identifier(row["service_id"], "cik", row["cik"], source="sec-submissions")
        )
    names: dict[str, set[str]] = {}
    for row in entities:
        others = json.loads(row.get("other_names") or "[]")
        names.setdefault(row["service_id"], set()).update([row["legal_name"], *others])

    def named(service_id: str) -> str:
        return " | ".join(sorted(names.get(service_id, {"(no name)"})))

    made, vetoed = joined(identifiers, entities)
    print(f"{len(entities)} records, joins: {dict(Counter(row['match_method'] for row in made))}")
    with path.open("w", encoding="utf-8", newline="") as file:
        for row in made:
            cells = (row["match_method"], named(row["service_id"]), named(row["same_as"]))
            csv.writer(file, "excel-tab").writerow(cells)
    unlike = [row for row in made if _share_no_word(names, row["service_id"], row["same_as"])]
    print(f"joined names that share no word: {len(unlike)}")
    for row in unlike:
        print(f"  {row['match_method']:11} {named(row['service_id'])} = {named(row['same_as'])}")
    print(f"vetoed joins: {len(vetoed)}")
    for row in vetoed:
        why, pair = f"{row['match_method']}, {row['reason']}", (row["service_id"], row["other_id"])
        print(f"  {why:16} {' / '.join(map(named, pair))}")
    print(f"written to {path}")


def _parsed_registers() -> Iterator[tuple[str, str, Parsed]]:
    """Yield source, day and rows of every real document of a register or list."""
    settings = read_settings({})
    recordings = [*real_recordings(), *real_lists(), *_more_registers()]
    for each in sorted(recordings, key=lambda recording: (recording.source, recording.day)):
        if each.source in PORTALS or each.source in ("za-etenders", "py-dncp", "ke-ppip"):
            continue
        source = source_of(settings, each.source)
        if not {ENTITIES, IDENTIFIERS} & {*source.tables}:
            continue
        body = each.path.read_bytes()
        body = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
        moment = datetime.fromisoformat(each.day).replace(tzinfo=UTC)
        document = Document(
            "0" * 64, each.source, each.url, "open-attribution", moment, 200, each.headers, 0
        )
        parse = source.parser.parse
        yield each.source, each.day, untyped(parse(document, body))


def _more_registers() -> Iterator[RealRecording]:
    for path in sorted(REAL.glob("more/sec/company_tickers_exchange_*.gz")):
        url = "https://www.sec.gov/files/company_tickers_exchange.json"
        yield RealRecording(path, "sec-tickers", url, path.name[-18:-8])
    for path in sorted(REAL.glob("more/br_cvm/cad/*.csv.gz")):
        url = "https://dados.cvm.gov.br/dados/CIA_ABERTA/CAD/DADOS/cad_cia_aberta.csv"
        yield RealRecording(path, "cvm-register", url, path.name[-17:-7])


def _print_nameless(entities: list[Row], identifiers: list[Row]) -> None:
    """Print how many issuers of each source have no name from it."""
    named = {(row["source"], row["service_id"]) for row in entities}
    issuers: dict[str, set[str]] = {}
    for row in identifiers:
        issuers.setdefault(row["source"], set()).add(row["service_id"])
    for source, ids in sorted(issuers.items()):
        nameless = sum((source, service_id) not in named for service_id in ids)
        print(f"{source:18} issuers {len(ids):6} nameless {nameless:6} ({nameless / len(ids):.1%})")


def _dated(rows: list[Row]) -> list[Row]:
    """Return rows once, as known: those of the last list are current if it has everything."""
    complete = {source.key for source in sources_of(read_settings({})) if source.complete}
    last = {row["source"]: row["day"] for row in rows}
    figures: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = (row["source"], row["service_id"], row.get("id_type"), row.get("id_value"))
        known = figures.get(key, row)
        is_current = row["source"] not in complete or row["day"] == last[row["source"]]
        figures[key] = row | {
            "is_current": is_current,
            "known_from": known.get("known_from", date.fromisoformat(row["day"])),
            "known_until": None if is_current else date.fromisoformat(row["day"]),
        }
    return list(figures.values())


def _share_no_word(names: dict[str, set[str]], first: str, second: str) -> bool:
    """Return whether two ids have names, and no word of one is a word of the other."""
    words = [{*" ".join(map(name_key, names.get(each, ()))).split()} for each in (first, second)]
    return all(words) and not set.intersection(*words) - FORM_WORDS


def _filers() -> Iterator[Row]:
    """Yield the filers as their register states them."""
    statement = f"""
        SELECT DISTINCT cik, name, countryinc, countryba, former FROM '{REAL / _FILERS}'"""
    for cik, name, jurisdiction, country, former in duckdb.execute(statement).fetchall():
        row = entity(mint("cik", f"{cik:010}"), name, jurisdiction, country=country)
        others = json.dumps([former]) if former else None
        yield row | {"source": "sec-submissions", "other_names": others, "cik": str(cik)}


if __name__ == "__main__":
    if sys.argv[1] == "--registers":
        join_registers(Path(sys.argv[2]))
    else:
        report(*sys.argv[1:])
