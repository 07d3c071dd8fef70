"""Join ids of one organisation by evidence, and choose the canonical one.

The evidence counts in the order of ``METHODS``: the same LEI; the same ISIN of a listed security or
share-class FIGI; the same number of the same register; the same listing; the same normalised legal
name in the same country, unless two subdivisions of it (``US-DE``, ``US-NV``) are stated. Never
likeness. Two valid LEIs are two organisations, however much else
they share (an umbrella fund and its sub-funds give one register number), unless GLEIF itself calls
one the duplicate of the other. Weaker evidence joins nothing that stronger evidence tells apart.

``same_as_table`` is the entry: SQL finds the few ids that share something, and ``joined_ids``
decides about those.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import combinations
from typing import NamedTuple, get_args

import duckdb
import pyarrow as pa

from assets.entities.identifiers import (
    CNPJ_FORM,
    CNPJ_REGISTER,
    LEI_SCHEMES,
    has_digits,
    mint,
    normalise_number,
    register_of,
    register_of_number,
)
from assets.entities.markets import comparable_listing
from warehouse.names.search_words import SHORT_FORMS, normalise_name
from warehouse.tables.derived import JoinMethod

# Identifiers and names in comparable form, in SQL.
#
# The rules are Python functions of ``identifiers`` and ``legal_names``. Each is applied once to
# every distinct value that needs it, and the result is registered as a small lookup table that
# SQL joins:
#
# * ``odd_numbers``: value, normalised number, whether it has digits * ``normalised_names``:
# value, normalised name * ``comparable_listings``: ticker, the same under the operating MIC of
# its market * ``registers``: code of a scheme or authority, main code of the register, identifier
# type
#
# All statements read the tables ``identifiers`` and ``entities`` of a connection, without
# withdrawn rows.

# Printable ASCII without blanks and lower case: already normalised. Nearly all values are, and
# are never handed to Python.
NORMALISED_NUMBER = "[!-`{-~]+"

_BATCH_ROWS = 1 << 16
_TEXT = pa.string()
# Types of identifiers that tell organisations apart.
_COMPARED_TYPES = "('lei', 'registry', 'cik', 'isin', 'figi')"
_NUMBERS = f"""
SELECT id_value AS value FROM identifiers WHERE id_type IN {_COMPARED_TYPES}
UNION ALL SELECT lei FROM entities
""".strip()
_REGISTER_CODES = "SELECT issuer AS value FROM identifiers WHERE id_type = 'registry'"


def normalised_number_sql(column: str, odd: str) -> str:
    """Return the SQL of a normalised number; ``odd`` is the alias of the joined ``odd_numbers``."""
    return f"CASE WHEN {odd}.value IS NULL THEN {column} ELSE {odd}.normalised END"


def has_digits_sql(column: str, odd: str) -> str:
    """Return the SQL of ``has_digits`` for a number; ``odd`` as in ``normalised_number_sql``."""
    of_itself = f"regexp_matches({column}, '[1-9]')"
    return f"CASE WHEN {odd}.value IS NULL THEN {of_itself} ELSE {odd}.has_digits END"


_NUMBER = normalised_number_sql("id_value", "odd")
# One row for each identifier of an id that can be compared: id_type, register, number. Needs the
# tables of ``create_key_tables``; ``joined_ids`` applies the same rules to single rows.
IDENTIFIER_KEYS = f"""
SELECT service_id, identifiers.id_type,
    CASE WHEN identifiers.id_type = 'registry' THEN
        -- as register_of_number does
        CASE WHEN regexp_full_match({_NUMBER}, '{CNPJ_FORM}') THEN '{CNPJ_REGISTER}'
            ELSE registers.register END
    END AS register,
    -- the zeros before a CIK are written or not
    CASE WHEN identifiers.id_type = 'cik' THEN ltrim({_NUMBER}, '0') ELSE {_NUMBER} END AS number,
    source, is_current
FROM identifiers
LEFT JOIN odd_numbers AS odd ON odd.value = id_value
LEFT JOIN registers ON registers.value = issuer
WHERE identifiers.id_type IN {_COMPARED_TYPES} AND {_NUMBER} IS NOT NULL
  -- of FIGIs only that of the share class names one security everywhere
  AND (identifiers.id_type <> 'figi' OR figi_level = 'share_class')
  -- zeros alone are a placeholder, not a CIK
  AND (identifiers.id_type <> 'cik' OR ltrim({_NUMBER}, '0') <> '')
  -- a register's number compares only within a register, and a placeholder not at all
  AND (identifiers.id_type <> 'registry'
       OR (registers.register IS NOT NULL AND {has_digits_sql("id_value", "odd")}))
UNION ALL
-- the LEI that an entity's own record states
SELECT service_id, 'lei', NULL, {normalised_number_sql("lei", "odd")}, source, is_current
FROM entities LEFT JOIN odd_numbers AS odd ON odd.value = lei
WHERE {normalised_number_sql("lei", "odd")} IS NOT NULL
""".strip()


def create_key_tables(
    sql: duckdb.DuckDBPyConnection, more_numbers: str = "", more_codes: str = ""
) -> None:
    """Register ``odd_numbers`` and ``registers``, which ``IDENTIFIER_KEYS`` joins.

    ``more_numbers`` and ``more_codes`` are queries for further values to include.
    """
    numbers = f"{_NUMBERS} UNION ALL {more_numbers}" if more_numbers else _NUMBERS
    _register_lookup(
        sql,
        "odd_numbers",
        f"SELECT DISTINCT value FROM ({numbers})"
        f" WHERE NOT regexp_full_match(value, '{NORMALISED_NUMBER}')",
        {
            "normalised": (normalise_number, _TEXT),
            "has_digits": (_has_digits_normalised, pa.bool_()),
        },
    )
    codes = f"{_REGISTER_CODES} UNION ALL {more_codes}" if more_codes else _REGISTER_CODES
    _register_lookup(
        sql,
        "registers",
        f"SELECT DISTINCT value FROM ({codes})",
        {"register": (register_of, _TEXT), "id_type": (_id_type_of_scheme, _TEXT)},
    )


def create_name_table(sql: duckdb.DuckDBPyConnection, names: str) -> None:
    """Register ``normalised_names`` for the values of the query ``names``."""
    query = f"SELECT DISTINCT value FROM ({names})"
    _register_lookup(sql, "normalised_names", query, {"normalised": (normalise_name, _TEXT)})


def create_listing_table(sql: duckdb.DuckDBPyConnection) -> None:
    """Register ``comparable_listings`` for the tickers of ``identifiers``."""
    query = "SELECT DISTINCT id_value AS value FROM identifiers WHERE id_type = 'ticker'"
    columns = {"listing": (comparable_listing, _TEXT)}
    _register_lookup(sql, "comparable_listings", query, columns)


def _register_lookup(
    sql: duckdb.DuckDBPyConnection,
    name: str,
    values: str,
    columns: Mapping[str, tuple[Callable[[str], object], pa.DataType]],
) -> None:
    fields = ((column, data_type) for column, (_, data_type) in columns.items())
    schema = pa.schema([("value", _TEXT), *fields])
    batches = []
    reader = sql.sql(f"SELECT value FROM ({values}) WHERE value IS NOT NULL")
    # In batches: a register has millions of names, which must not be Python objects at once.
    for batch in reader.to_arrow_reader(_BATCH_ROWS):
        raw = batch.column(0).to_pylist()
        computed = [pa.array(map(rule, raw), data_type) for rule, data_type in columns.values()]
        batches.append(pa.RecordBatch.from_arrays([pa.array(raw, _TEXT), *computed], schema=schema))
    sql.register(name, pa.Table.from_batches(batches, schema))


def _has_digits_normalised(value: str) -> bool:
    return has_digits(normalise_number(value) or "")


def _id_type_of_scheme(code: str) -> str:
    return "lei" if code.strip().upper() in LEI_SCHEMES else "registry"


# Names by which organisations are compared, in SQL; see ``warehouse.names.search_words``.

# The countries in which the name of an organisation is compared: where it is incorporated and where
# it is. A jurisdiction may be a subdivision, as in ``US-DE``, of the country of its first letters.
_PLACE = "nullif(upper(left(trim({}), 2)), '')"
_PLACES = f"list_distinct([{_PLACE.format('jurisdiction')}, {_PLACE.format('country')}])"
_SUBDIVISION = "nullif(regexp_extract(upper(trim(jurisdiction)), '^[A-Z]{2}-[A-Z0-9]+$'), '')"
# Prefixes of ISINs that are no country, as XS.
_NO_COUNTRY = "^(X[A-Z]|EU|Q[M-Z]|AA|ZZ)$"
_LIST = "TRY_CAST(TRY_CAST({} AS JSON) AS VARCHAR[])"
# The SEC's register ends names with what tells filers apart, as in "INC /DE/" and "NV /FI".
_FILER_SUFFIX = r"(\s+[/\\][A-Za-z]{2,5}[/\\]?|[/\\][A-Za-z]{2,5}[/\\])+\s*$"
_OF_FILER = (
    f"CASE WHEN source LIKE 'sec-%' THEN regexp_replace(name, '{_FILER_SUFFIX}', '') ELSE name END"
)
# The legal names of ``entities`` with their countries: the present one, former ones and those in
# other languages. A trading name is anybody's; an annulled LEI record is an error, and a duplicate
# one is declared.
NAMES_WITH_PLACE = f"""
-- the country of the ISINs that a list gives an issuer of which it states no country: it is good
-- enough to compare names in, but is not served, since that of a receipt is another one
WITH isin_places AS (
    SELECT service_id, source, [min({_PLACE.format("id_value")})] AS places
    FROM identifiers
    SEMI JOIN (SELECT service_id, source FROM entities WHERE len({_PLACES}) = 0)
    USING (service_id, source)
    WHERE id_type = 'isin' AND NOT regexp_matches({_PLACE.format("id_value")}, '{_NO_COUNTRY}')
    GROUP BY service_id, source
    HAVING count(DISTINCT {_PLACE.format("id_value")}) = 1
),
bearers AS (
    SELECT service_id, source, is_current, {_SUBDIVISION} AS subdivision,
        CASE WHEN len({_PLACES}) > 0 THEN {_PLACES} ELSE isin_places.places END AS places,
        list_filter(
            list_prepend(legal_name, coalesce({_LIST.format("other_names")}, [])),
            lambda name: name IS NOT NULL
                AND NOT list_contains(coalesce({_LIST.format("trading_names")}, []), name)
        ) AS names
    FROM entities LEFT JOIN isin_places USING (service_id, source)
    WHERE coalesce(lei_status, '') NOT IN ('ANNULLED', 'DUPLICATE')
),
named AS (
    SELECT service_id, source, is_current, place, subdivision, unnest(names) AS name
    FROM (SELECT *, unnest(places) AS place FROM bearers)
)
SELECT service_id, source, is_current, place, subdivision, {_OF_FILER} AS name FROM named
""".strip()

# A name without forms and initials, in SQL. Names with the same normalised form have the same crude
# key, but for initials that are written apart; it selects the few that are worth normalising.
_FORM_WORDS = sorted(
    {word for form in (*SHORT_FORMS, *SHORT_FORMS.values(), "the") for word in form.split()}
)
CRUDE_KEY = (
    "hash(regexp_replace(regexp_replace(regexp_replace(regexp_replace(replace(replace("
    "lower(strip_accents(name)), 'ß', 'ss'), '&', ' and '), '[''’‘ʼ`´]', '', 'g'), "
    "'\\b([a-z0-9])\\.', '\\1', 'g'), "
    f"'\\b(?:[a-z0-9]|{'|'.join(_FORM_WORDS)})\\b', '', 'g'), '[^a-z0-9]', '', 'g'))"
)


# Find what ids of organisations share: the evidence by which they may be joined.
#
# SQL narrows millions of identifiers and names down to the few that several ids bear. Numbers,
# listings and names are compared in the forms above and in that of ``legal_names``.
#
# A claim says that an id bears a key in the records of a side. A side is a register or list,
# under all the names of its sources: ``gleif`` and ``gleif-api`` are one. What a source has
# withdrawn stays evidence, so that an id which was once joined never becomes unknown; but not if
# the same source now gives the key to another id.

_SIDE = "split_part(source, '-', 1)"
# ISINs of ids that also have a ticker: no other ISIN joins organisations.
_LISTED_ISINS = f"""
SELECT number FROM ({IDENTIFIER_KEYS}) WHERE id_type = 'isin'
  AND service_id IN (SELECT service_id FROM identifiers WHERE id_type = 'ticker')
""".strip()
# Listed ISINs as they are written in the identifiers, to select rows without normalising each.
_LISTED_ISIN_VALUES = f"""
SELECT DISTINCT id_value AS value
FROM identifiers LEFT JOIN odd_numbers AS odd ON odd.value = id_value
WHERE id_type = 'isin' AND {normalised_number_sql("id_value", "odd")} IN ({_LISTED_ISINS})
""".strip()
_SHARED_NUMBERS = f"""
-- group by a hash, which is smaller than the key; a collision only adds claims of other keys
WITH keys AS (
    SELECT *, hash(id_type, register, number) AS key_hash
    FROM ({IDENTIFIER_KEYS}) WHERE id_type <> 'isin' OR number IN ({_LISTED_ISINS})
),
shared AS (
    SELECT key_hash FROM keys GROUP BY key_hash HAVING min(service_id) <> max(service_id)
)
SELECT DISTINCT CASE WHEN id_type IN ('registry', 'cik') THEN 'registry_id' ELSE id_type END,
    concat_ws('/', id_type, register, number), service_id, {_SIDE}, is_current,
    CAST(NULL AS DATE), CAST(NULL AS DATE)
FROM keys SEMI JOIN shared USING (key_hash)
""".strip()
# A listing is one ticker in one market, while it lasts. A market without a MIC may be several, and
# of a delisted security without a day nobody knows when its ticker became another's.
_SHARED_LISTINGS = f"""
WITH listings AS (
    SELECT listing, service_id, source, is_current,
        coalesce(valid_from, known_from) AS begins, coalesce(valid_to, known_until) AS ends
    FROM identifiers JOIN comparable_listings ON value = id_value
    WHERE id_type = 'ticker' AND regexp_full_match(issuer, '[A-Za-z0-9]{{4}}')
      AND (valid_to IS NOT NULL OR NOT coalesce(contains(lower(status), 'delist'), FALSE))
)
SELECT DISTINCT 'listing', listing, service_id, {_SIDE}, is_current, begins, ends
FROM listings SEMI JOIN (
    SELECT listing FROM listings GROUP BY listing HAVING min(service_id) <> max(service_id)
) USING (listing)
""".strip()
# Names that may be equal: those that agree in a crude key, in one country, on several sides.
_NAME_KEYS = f"""
CREATE OR REPLACE TEMP TABLE name_keys AS
WITH names AS (SELECT *, {_SIDE} AS side FROM ({NAMES_WITH_PLACE}))
SELECT *, {CRUDE_KEY} AS crude_key FROM names
""".strip()
_CANDIDATE_NAMES = """
CREATE OR REPLACE TEMP TABLE candidate_names AS
SELECT DISTINCT service_id, side, is_current, place, subdivision, name FROM name_keys SEMI JOIN (
    SELECT place, crude_key FROM name_keys GROUP BY ALL HAVING min(side) <> max(side)
) USING (place, crude_key)
""".strip()
_SHARED_NAMES = """
WITH bearers AS (
    SELECT concat_ws('/', place, normalised) AS key, service_id, side, is_current, subdivision
    FROM candidate_names JOIN normalised_names ON normalised_names.value = name
    WHERE normalised IS NOT NULL
)
SELECT DISTINCT 'exact_name', key, service_id, side, is_current, CAST(NULL AS DATE),
    CAST(NULL AS DATE), subdivision
FROM bearers SEMI JOIN (
    SELECT key FROM bearers GROUP BY key HAVING min(side) <> max(side)
) USING (key)
""".strip()
_NUMBERED = """
SELECT service_id, id_type, id_value, issuer FROM identifiers
WHERE service_id IN (SELECT service_id FROM candidates)
  AND (id_type <> 'isin' OR id_value IN (SELECT value FROM listed_isin_values))
UNION SELECT service_id, 'lei', lei, NULL FROM entities
WHERE service_id IN (SELECT service_id FROM candidates) AND lei IS NOT NULL
""".strip()


class Claim(NamedTuple):
    """An id bears a key, in the records of a side; a listing, from a day to a day.

    Of a name, ``subdivision`` is that under whose law its bearer is, if the record states it.
    """

    method: str
    key: str
    service_id: str
    side: str
    is_current: bool
    begins: date | None = None
    ends: date | None = None
    subdivision: str | None = None


class Number(NamedTuple):
    """An identifier of an id, as it is written in its source."""

    service_id: str
    id_type: str
    value: str
    issuer: str | None


class Evidence(NamedTuple):
    """What ids share, the identifiers of these ids, and the duplicates that registers declare."""

    claims: list[Claim]
    numbers: list[Number]
    declared: dict[str, str]


def collect_evidence(sql: duckdb.DuckDBPyConnection) -> Evidence:
    """Return what ids of the connection's ``identifiers`` and ``entities`` share."""
    create_key_tables(sql)
    create_listing_table(sql)
    sql.execute(_NAME_KEYS)
    sql.execute(_CANDIDATE_NAMES)
    create_name_table(sql, "SELECT name AS value FROM candidate_names")
    claims = [
        Claim(*row)
        for statement in (_SHARED_NUMBERS, _SHARED_LISTINGS, _SHARED_NAMES)
        for row in sql.execute(statement).fetchall()
    ]
    declared = _declared(sql)
    ids = {claim.service_id for claim in claims} | {*declared, *declared.values()}
    sql.execute("CREATE OR REPLACE TEMP TABLE candidates (service_id VARCHAR)")
    sql.execute("INSERT INTO candidates SELECT unnest(?)", [sorted(ids)])
    sql.execute(f"CREATE OR REPLACE TEMP TABLE listed_isin_values AS {_LISTED_ISIN_VALUES}")
    numbers = [Number(*row) for row in sql.execute(_NUMBERED).fetchall()]
    return Evidence(claims, numbers, declared)


def _declared(sql: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the duplicates that registers declare themselves; of two targets the smaller id."""
    rows = sql.execute(
        "SELECT service_id, min(same_as) FROM entities "
        "WHERE is_current AND same_as <> service_id GROUP BY service_id"
    )
    return dict(rows.fetchall())


# From strongest to weakest: the id minted from the strongest identifier is canonical.
# An LEI is unique in the world, a register's number in its register; a ticker is used again.
STRENGTH = ("lei", "registry", "cik", "isin", "figi", "ticker")
# Ids minted from these name a security: an issuer may have several in one list.
_SECURITIES = frozenset({"isin", "figi", "ticker"})
# Numbers of which an organisation has one in each register: two different ones are two.
_UNIQUE = frozenset({"lei", "registry", "cik"})
METHODS: tuple[str, ...] = get_args(JoinMethod)
# Evidence that only counts if one organisation on each side has it, and nothing speaks against it.
_NEEDS_ONE_ON_EACH_SIDE = frozenset({"listing", "exact_name"})

_WEAKEST = len(STRENGTH)
_COLUMNS = ("service_id", "same_as", "match_method")


def same_as_table(sql: duckdb.DuckDBPyConnection) -> pa.Table:
    """Return a row for every alias: the canonical id, and the evidence that joins the two.

    Reads the connection's ``identifiers`` and ``entities``, of any size.
    """
    rows = joined_ids(collect_evidence(sql))
    return pa.Table.from_pylist(rows, pa.schema([(column, pa.string()) for column in _COLUMNS]))


def joined_ids(evidence: Evidence) -> list[dict[str, str]]:
    """Return a row for every alias; the order of the evidence makes no difference.

    All aliases of an organisation point directly to its canonical id. The method is the weakest
    evidence on the strongest way from one to the other.
    """
    ids = _Ids(evidence.numbers, evidence.claims)
    partitions: list[tuple[str, DisjointSets]] = []
    links: list[set[str]] = [{*pair} for pair in evidence.declared.items()]
    for method in METHODS:
        keys = _claims_by_key(evidence.claims, method, ids)
        before = partitions[-1][1] if partitions else DisjointSets([])
        accepted = [
            {claim.service_id for claim in claims}
            for claims in keys
            if _may_join(method, claims, before, ids)
        ]
        links += _without_contradictions(method, accepted, before, ids)
        partitions.append((method, DisjointSets(links)))
        if method == "lei":
            ids.same_lei = partitions[-1][1]
    rows = [
        {"service_id": alias, "same_as": canonical, "match_method": _method(partitions, alias, to)}
        for group in partitions[-1][1].groups()
        for canonical in [_canonical(group, evidence.declared, ids)]
        for alias, to in ((member, canonical) for member in group - {canonical})
    ]
    return sorted(rows, key=lambda row: row["service_id"])


class _Ids:
    """The identifiers of ids: what they were minted from, and which numbers tell them apart."""

    def __init__(self, numbers: Iterable[Number], claims: Iterable[Claim]) -> None:
        # More than one if an organisation moved, from Delaware to Nevada.
        self.subdivisions: dict[str, set[str]] = {}
        for claim in claims:
            if claim.subdivision:
                self.subdivisions.setdefault(claim.service_id, set()).add(claim.subdivision)
        self.numbers: dict[str, list[Number]] = {}
        for number in numbers:
            if number.id_type in STRENGTH and _key_of(number) is not None:
                self.numbers.setdefault(number.service_id, []).append(number)
        # Groups of ids with one LEI; the declared duplicates of an LEI count as the same.
        self.same_lei = DisjointSets([])
        self.leis = {service_id: self._own_leis(service_id) for service_id in self.numbers}

    def _own_leis(self, service_id: str) -> frozenset[str]:
        """Return the LEI of an id; of several, only the one the id was minted from."""
        leis = {normalise_number(n.value) or "" for n in self.of(service_id) if n.id_type == "lei"}
        # An id with two LEIs would join two organisations: only its own may join.
        if len(leis) > 1:
            leis = {lei for lei in leis if mint("lei", lei) == service_id}
        return frozenset(leis)

    def of(self, service_id: str) -> list[Number]:
        """Return the identifiers of an id that say something about it."""
        return self.numbers.get(service_id, [])

    def is_security(self, service_id: str) -> bool:
        """Return whether an id was minted from the identifier of a security."""
        return any(
            number.id_type in _SECURITIES and _minted_id(number) == service_id
            for number in self.of(service_id)
        )

    def is_minted_from(self, service_id: str, key: str) -> bool:
        """Return whether an id was minted from the identifier with the key of a claim."""
        return any(
            _minted_id(number) == service_id
            and "/".join(filter(None, _key_of(number) or ())) == key
            for number in self.of(service_id)
        )

    def organisations_with_lei(self, ids: Iterable[str]) -> set[str]:
        """Return one id for each organisation among the ids that has an LEI."""
        return {self.same_lei.root(service_id) for service_id in ids if self.leis.get(service_id)}

    def unique_numbers(self, ids: Iterable[str]) -> dict[tuple[str, str | None], set[str]]:
        """Return the numbers of ids by register."""
        numbers: dict[tuple[str, str | None], set[str]] = {}
        for number in (number for service_id in ids for number in self.of(service_id)):
            key = _key_of(number)
            if number.id_type in _UNIQUE and key is not None:
                numbers.setdefault(key[:2], set()).add(key[2])
        return numbers


def _claims_by_key(claims: Iterable[Claim], method: str, ids: _Ids) -> list[list[Claim]]:
    """Return the claims of a method that count, those of each key together."""
    by_key: dict[str, list[Claim]] = {}
    for claim in claims:
        of_key = claim.key.partition("/")[2]
        is_own = claim.method != "lei" or of_key in ids.leis.get(claim.service_id, ())
        if claim.method == method and is_own:
            by_key.setdefault(claim.key, []).append(claim)
    # What a source withdrew does not count once it says the same of another id.
    return [
        [claim for claim in same_key if claim.is_current or not _was_moved(claim, same_key, ids)]
        for same_key in by_key.values()
    ]


def _was_moved(claim: Claim, claims: Iterable[Claim], ids: _Ids) -> bool:
    """Return whether the source of a withdrawn claim now gives the key to another id."""
    # An id that was minted from the key is the key's for ever.
    return not ids.is_minted_from(claim.service_id, claim.key) and any(
        other.is_current and other.side == claim.side and other.service_id != claim.service_id
        for other in claims
    )


def _may_join(method: str, claims: Sequence[Claim], before: "DisjointSets", ids: _Ids) -> bool:
    """Return whether one key may join all ids that claim it."""
    if method in ("lei", "declared"):
        return True
    if len(ids.organisations_with_lei(claim.service_id for claim in claims)) > 1:
        return False
    if method not in _NEEDS_ONE_ON_EACH_SIDE:
        return True
    bearers: dict[str, set[str]] = {}
    for claim in claims:
        # Several securities with one name in one list are of one issuer.
        if method == "listing" or not ids.is_security(claim.service_id):
            bearers.setdefault(claim.side, set()).add(before.root(claim.service_id))
    if any(len(organisations) > 1 for organisations in bearers.values()):
        return False
    return method != "listing" or all(_overlap(*pair) for pair in combinations(claims, 2))


def _overlap(first: Claim, second: Claim) -> bool:
    """Return whether two listings were current at the same time."""
    begin = max(first.begins or date.min, second.begins or date.min)
    return begin <= min(first.ends or date.max, second.ends or date.max)


def _without_contradictions(
    method: str, links: Sequence[set[str]], before: "DisjointSets", ids: _Ids
) -> Iterator[set[str]]:
    """Yield the links of groups in which no stronger evidence tells two organisations apart.

    Links are judged together, since their order must not matter: if a group of links would join
    what is not one, none of them counts.
    """
    if method in ("lei", "declared"):
        yield from links
        return
    together = DisjointSets([*before.groups(), *links])
    group_of = {together.root(next(iter(group))): group for group in together.groups()}
    for link in links:
        group = group_of.get(together.root(next(iter(link))), set())
        if len(ids.organisations_with_lei(group)) > 1:
            continue
        if method in _NEEDS_ONE_ON_EACH_SIDE:
            organisations = _organisations(group, before)
            if _numbers_differ(organisations, ids):
                continue
            if method == "exact_name" and _subdivisions_differ(organisations, ids):
                continue
        yield link


def _organisations(group: Iterable[str], before: "DisjointSets") -> list[set[str]]:
    """Return the ids of a group by what stronger evidence joins."""
    organisations: dict[str, set[str]] = {}
    for service_id in group:
        organisations.setdefault(before.root(service_id), set()).add(service_id)
    return list(organisations.values())


def _numbers_differ(organisations: Iterable[set[str]], ids: _Ids) -> bool:
    """Return whether two organisations have different numbers in one register."""
    numbers = [ids.unique_numbers(members) for members in organisations]
    return any(
        first[register].isdisjoint(second[register])
        for first, second in combinations(numbers, 2)
        for register in first.keys() & second.keys()
    )


def _subdivisions_differ(organisations: Iterable[set[str]], ids: _Ids) -> bool:
    """Return whether two organisations are under the laws of different subdivisions."""
    stated = [
        {place for member in members for place in ids.subdivisions.get(member, ())}
        for members in organisations
    ]
    return any(first.isdisjoint(second) for first, second in combinations(filter(None, stated), 2))


class DisjointSets:
    """Union-find over names: all names of a link are in one group."""

    def __init__(self, links: Iterable[Iterable[str]]) -> None:
        self._parent: dict[str, str] = {}
        for link in links:
            names = list(link)
            for name in names:
                self._join(names[0], name)

    def root(self, name: str) -> str:
        """Return the name that represents the group of a name: the smallest in it."""
        root = name
        while (parent := self._parent.get(root, root)) != root:
            root = parent
        # Path compression: the next lookup of these names is one step.
        while name != root:
            self._parent[name], name = root, self._parent[name]
        return root

    def groups(self) -> list[set[str]]:
        """Return the groups of two or more, sorted by their smallest name."""
        members: dict[str, set[str]] = {}
        for name in self._parent:
            members.setdefault(self.root(name), set()).add(name)
        return [members[root] for root in sorted(members) if len(members[root]) > 1]

    def _join(self, first: str, second: str) -> None:
        low, high = sorted((self.root(first), self.root(second)))
        self._parent.setdefault(low, low)
        self._parent[high] = low


def _canonical(group: set[str], declared: dict[str, str], ids: _Ids) -> str:
    """Choose the id by which an organisation is named."""
    declared_targets = {declared[service_id] for service_id in group if service_id in declared}
    # An id that a register calls a duplicate is no target, unless all of the group are.
    possible = {service_id for service_id in group if service_id not in declared} or group
    return min(
        possible,
        key=lambda service_id: _rank(
            service_id, ids.of(service_id), service_id in declared_targets
        ),
    )


def _method(partitions: Sequence[tuple[str, DisjointSets]], alias: str, canonical: str) -> str:
    """Return the method with which an alias first is in one group with the canonical id."""
    return next(method for method, sets in partitions if sets.root(alias) == sets.root(canonical))


def _rank(
    service_id: str, numbers: list[Number], is_declared_target: bool
) -> tuple[int, bool, int, str]:
    """Rank by the identifier an id was minted from, else by the strongest it has."""
    # An id known only as the target of a register's pointer was minted from an LEI.
    if is_declared_target and not numbers:
        return 0, False, 0, service_id
    strengths = [_strength(number) for number in numbers if service_id == _minted_id(number)]
    minted_from = min(strengths, default=None)
    strongest = min((_strength(number) for number in numbers), default=_WEAKEST)
    first = strongest if minted_from is None else minted_from
    return first, minted_from is None, strongest, service_id


def _key_of(number: Number) -> tuple[str, str | None, str] | None:
    """Return an identifier in comparable form; None if it identifies nothing by itself.

    The same rules are applied in SQL by ``IDENTIFIER_KEYS``.
    """
    value = normalise_number(number.value)
    if number.id_type == "cik" and value is not None:
        value = value.lstrip("0") or None
    if number.id_type != "registry" or value is None:
        return None if value is None else (number.id_type, None, value)
    register = register_of_number(number.issuer, value)
    return (number.id_type, register, value) if register and has_digits(value) else None


def _minted_id(number: Number) -> str:
    """Return the id that is minted from an identifier."""
    of_register = f"{number.issuer}:" if number.id_type == "registry" else ""
    return mint(number.id_type, f"{of_register}{number.value}")


def _strength(number: Number) -> int:
    return STRENGTH.index(number.id_type)
