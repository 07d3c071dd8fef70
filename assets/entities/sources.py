"""The registers of organisations and the files that map their identifiers."""

from functools import partial

from assets.entities import exchange_lists, fetch, gleif, mappings, openfigi
from assets.entities.list_files import ENTRIES, ListEntry
from assets.source import Parser, Source, declared_source
from warehouse.record.tables import ENTITIES, IDENTIFIERS

_gleif = partial(
    Source,
    subject="entities",
    license_class="cc0",
    license_name="Creative Commons Zero 1.0",
    license_url="https://www.gleif.org/en/about/open-data",
)
# Raise it whenever the same document of any list gives other rows or rejections than before.
LIST_PARSER_VERSION = 6


def list_source(entry: ListEntry) -> Source:
    """Return the source of an exchange list."""
    return declared_source(
        entry,
        "entities",
        LIST_PARSER_VERSION,
        exchange_lists.parse,
        (ENTITIES, IDENTIFIERS),
        complete=entry.complete,
    )


def _mapping(key: str, title: str, mapping: mappings.Mapping) -> Source:
    parse = partial(mappings.parse, mapping=mapping)
    stream = partial(mappings.stream, mapping=mapping)
    return _gleif(
        key,
        title=title,
        parser=Parser(4, parse, stream),
        tables=(IDENTIFIERS,),
        base_url="https://mapping.gleif.org",
        other_hosts=("isinmapping.gleif.org",),
        fetch=fetch.mapping,
        requests=(f"/api/v2/{key}/latest/download",),
        # The page is about LEI data; that the mappings are free as well, others say.
        evidence="third party",
        archives=frozenset({"zip"}),
    )


SOURCES = (
    _gleif(
        "gleif",
        title="GLEIF golden copy",
        parser=Parser(5, gleif.parse, gleif.stream),
        tables=(ENTITIES, IDENTIFIERS),
        base_url="https://goldencopy.gleif.org",
        other_hosts=("leidata-preview.gleif.org", "leidata.gleif.org"),
        fetch=fetch.gleif,
        requests=("/api/v2/golden-copies/publishes/lei2/latest.{format}?delta={delta}",),
        archives=frozenset({"zip"}),
    ),
    _gleif(
        "gleif-api",
        title="GLEIF API, LEI records of some countries",
        parser=Parser(5, gleif.parse, gleif.stream),
        tables=(ENTITIES, IDENTIFIERS),
        base_url="https://api.gleif.org",
        fetch=fetch.gleif_api,
        requests=(
            "/api/v1/lei-records?filter[entity.legalAddress.country]={country}&page[number]={page}",
        ),
        # 60 requests a minute.
        rates={"api.gleif.org": 1.0},
    ),
    _mapping("isin-lei", "GLEIF and ANNA, ISIN to LEI", mappings.ISINS),
    _mapping(
        "oc-lei", "GLEIF and OpenCorporates, OpenCorporates id to LEI", mappings.OPENCORPORATES
    ),
    *map(list_source, ENTRIES),
    Source(
        "openfigi",
        "entities",
        "OpenFIGI, FIGIs of ISINs and listings",
        "open-attribution",
        "FIGI, free to use and redistribute",
        Parser(3, openfigi.parse),
        (IDENTIFIERS,),
        base_url="https://api.openfigi.com",
        fetch=fetch.openfigi,
        requests=("POST /v3/mapping",),
        # 25 requests a minute without an API key.
        rates={"openfigi.com": 0.4},
        license_url="https://www.openfigi.com/docs/terms-of-service",
    ),
)
