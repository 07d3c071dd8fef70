"""Find service_ids that denote the same organisation, and the id that the others point to.

Ids are joined by the same LEI, the same number in the same register, or the same ISIN of a listed
security. A number in two registers is two numbers. Two valid LEIs are two organisations, however
much else they share (an umbrella fund and its sub-funds give one register number), unless GLEIF
itself calls one the duplicate of the other.

``same_as_table`` is the entry: SQL narrows millions of identifiers down to the few ids that share
one, and ``same_as_rows`` decides about those in Python.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from assets.entities.comparison_keys import (
    IDENTIFIER_KEYS,
    create_key_tables,
    normalised_number_sql,
)
from assets.entities.identifiers import has_digits, mint, normalise_number, register_of

# From strongest to weakest: the id minted from the strongest identifier is pointed to.
# An LEI is unique in the world, a register's number in its register; a ticker is used again.
STRENGTH = ("lei", "registry", "cik", "isin", "ticker")

_WEAKEST = len(STRENGTH)
_IDENTIFIER_COLUMNS = ("service_id", "id_type", "id_value", "issuer")
_ENTITY_COLUMNS = ("service_id", "lei", "same_as")

# An identifier in comparable form: its type, its register if it has one, and its number.
IdentifierKey = tuple[str, str | None, str]
RowSource: TypeAlias = pa.Table | Sequence[Mapping[str, Any]]

_Row = Mapping[str, Any]

# ISINs of ids that also have a ticker: no other ISIN joins organisations.
_LISTED_ISINS = f"""
SELECT number FROM ({IDENTIFIER_KEYS}) WHERE id_type = 'isin'
  AND service_id IN (SELECT service_id FROM identifiers WHERE id_type = 'ticker')
""".strip()
_CANDIDATES = f"""
-- group by a hash, which is smaller than the key; a collision only adds candidates
WITH keys AS (
    SELECT service_id, hash(id_type, register, number) AS key_hash
    FROM ({IDENTIFIER_KEYS}) WHERE id_type <> 'isin' OR number IN ({_LISTED_ISINS})
)
SELECT service_id FROM keys WHERE key_hash IN (
    SELECT key_hash FROM keys GROUP BY key_hash HAVING min(service_id) <> max(service_id)
)
-- and both ends of what a register itself declares a duplicate
UNION SELECT service_id FROM entities WHERE same_as IS NOT NULL
UNION SELECT same_as FROM entities WHERE same_as IS NOT NULL
""".strip()
# Listed ISINs as they are written in the identifiers, to select rows without normalising each.
_LISTED_ISIN_VALUES = f"""
SELECT DISTINCT id_value AS value
FROM identifiers LEFT JOIN odd_numbers AS odd ON odd.value = id_value
WHERE id_type = 'isin' AND {normalised_number_sql("id_value", "odd")} IN ({_LISTED_ISINS})
""".strip()
_CANDIDATE_IDENTIFIERS = f"""
SELECT {", ".join(_IDENTIFIER_COLUMNS)} FROM identifiers
WHERE service_id IN (SELECT service_id FROM candidates)
  AND (id_type <> 'isin' OR id_value IN (SELECT value FROM listed_isin_values))
""".strip()
_CANDIDATE_ENTITIES = f"""
SELECT {", ".join(_ENTITY_COLUMNS)} FROM entities SEMI JOIN candidates USING (service_id)
""".strip()


def same_as_table(sql: duckdb.DuckDBPyConnection) -> pa.Table:
    """Return ``same_as_rows`` of the connection's ``identifiers`` and ``entities`` as a table.

    The tables may have any size: SQL selects the few ids that share an identifier or that a
    register points from or to, and only their rows are read one by one.
    """
    create_key_tables(sql)
    sql.register("candidates", sql.sql(_CANDIDATES).to_arrow_table())
    sql.register("listed_isin_values", sql.sql(_LISTED_ISIN_VALUES).to_arrow_table())
    identifiers = sql.sql(_CANDIDATE_IDENTIFIERS).to_arrow_table()
    rows = same_as_rows(identifiers, sql.sql(_CANDIDATE_ENTITIES).to_arrow_table())
    columns = ("service_id", "same_as", "match_method")
    return pa.Table.from_pylist(rows, pa.schema([(column, pa.string()) for column in columns]))


def same_as_rows(identifiers: RowSource, entities: RowSource) -> list[dict[str, str]]:
    """Return a row for every id that points to another: both ids, and the evidence.

    All ids of an organisation point directly to the one with the strongest identifier. The
    order of the input makes no difference.
    """
    # SQL has already narrowed these down: both tables fit into memory.
    claims, declared = _read_claims(identifiers, entities), _read_declared(entities)
    groups = list(_organisations(claims, declared))
    grouped_ids = {service_id for group in groups for service_id in group}
    identifiers_of = _identifiers_by_id(identifiers, grouped_ids, claims)
    rows = (row for group in groups for row in _pointers(group, declared, identifiers_of, claims))
    return sorted(rows, key=lambda row: row["service_id"])


@dataclass
class Claims:
    """The identifiers that several ids have, the LEI of each id, and which ids are listed."""

    shared: dict[IdentifierKey, set[str]] = field(default_factory=dict)
    leis: dict[str, str] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)

    def joins(self, key: IdentifierKey) -> bool:
        """Return whether an identifier joins the ids that share it: an ISIN only if listed."""
        return key in self.shared and (key[0] != "isin" or bool(self.shared[key] & self.listed))


def _read_claims(identifiers: RowSource, entities: RowSource) -> Claims:
    """Collect who has which identifier; of several LEIs, only the one the id was minted from."""
    claims, first_claimant = Claims(), dict[IdentifierKey, str]()
    leis: dict[str, set[str]] = {}
    for row in _current_rows(identifiers, _IDENTIFIER_COLUMNS):
        key, service_id = _key_of(row), row["service_id"]
        if row["id_type"] == "ticker":
            claims.listed.add(service_id)
        elif row["id_type"] == "lei" and key:
            leis.setdefault(service_id, set()).add(key[2])
        elif row["id_type"] in ("registry", "isin") and key:
            _add_claim(claims, first_claimant, key, service_id)
    for row in _current_rows(entities, _ENTITY_COLUMNS):
        if lei := normalise_number(row.get("lei")):
            leis.setdefault(row["service_id"], set()).add(lei)
    for service_id, its_leis in leis.items():
        # An id with two LEIs would join two organisations: only its own may join.
        if len(its_leis) > 1:
            its_leis = {lei for lei in its_leis if mint("lei", lei) == service_id}
        for lei in its_leis:
            claims.leis[service_id] = lei
            _add_claim(claims, first_claimant, ("lei", None, lei), service_id)
    return claims


def _add_claim(
    claims: Claims, first_claimant: dict[IdentifierKey, str], key: IdentifierKey, service_id: str
) -> None:
    # Most identifiers have one claimant: a set is made only for the few that are shared.
    first = first_claimant.setdefault(key, service_id)
    if first != service_id:
        claims.shared.setdefault(key, {first}).add(service_id)


def _key_of(row: _Row) -> IdentifierKey | None:
    """Return an identifier in comparable form; None if it identifies nothing by itself.

    The same rules are applied in SQL by ``comparison_keys.IDENTIFIER_KEYS``.
    """
    id_type, number = row["id_type"], normalise_number(row["id_value"])
    if id_type != "registry" or number is None:
        return None if number is None else (id_type, None, number)
    register = register_of(row.get("issuer"))
    return (id_type, register, number) if register and has_digits(number) else None


def _read_declared(entities: RowSource) -> dict[str, str]:
    """Return the duplicates that registers declare themselves; of two targets the smaller id."""
    declared: dict[str, str] = {}
    for row in _current_rows(entities, _ENTITY_COLUMNS):
        other = row.get("same_as")
        if other and other != row["service_id"]:
            declared[row["service_id"]] = min(other, declared.get(row["service_id"], other))
    return declared


def _current_rows(rows: RowSource, columns: tuple[str, ...]) -> Iterator[_Row]:
    """Iterate over the rows that were not withdrawn; of an Arrow table, read only ``columns``."""
    if isinstance(rows, pa.Table):
        names = [name for name in (*columns, "withdrawn") if name in rows.column_names]
        batches = rows.select(names).to_batches(max_chunksize=1 << 14)
        rows = (row for batch in batches for row in batch.to_pylist())
    yield from (row for row in rows if not row.get("withdrawn"))


def _organisations(claims: Claims, declared: dict[str, str]) -> Iterator[set[str]]:
    """Group the ids by organisation.

    Where weaker evidence would join two organisations with an LEI, only the strong counts.
    """
    by_lei = [ids for key, ids in claims.shared.items() if key[0] == "lei"]
    strong = DisjointSets([*declared.items(), *by_lei])
    strong_groups = {strong.root(next(iter(group))): group for group in strong.groups()}

    def roots_with_lei(ids: Iterable[str]) -> set[str]:
        return {strong.root(service_id) for service_id in ids if service_id in claims.leis}

    # Register numbers and listed ISINs, unless one by itself already spans two LEIs.
    weak = [
        ids
        for key, ids in claims.shared.items()
        if key[0] != "lei" and claims.joins(key) and len(roots_with_lei(ids)) < 2
    ]
    for group in DisjointSets([*strong_groups.values(), *weak]).groups():
        if len(roots_with_lei(group)) < 2:
            yield group
        else:
            roots = {strong.root(service_id) for service_id in group}
            yield from (strong_groups[root] for root in roots & set(strong_groups))


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


def _identifiers_by_id(
    identifiers: RowSource, ids: set[str], claims: Claims
) -> dict[str, list[_Row]]:
    """Return the identifiers of each id; of ISINs only those that join, as funds have thousands."""
    by_id: dict[str, list[_Row]] = {}
    for row in _current_rows(identifiers, _IDENTIFIER_COLUMNS):
        if row["service_id"] in ids and row["id_type"] in STRENGTH:
            key = _key_of(row)
            if row["id_type"] != "isin" or (key and claims.joins(key)):
                by_id.setdefault(row["service_id"], []).append(row)
    # An LEI may be known only from the entity itself.
    for service_id in ids & claims.leis.keys():
        rows = by_id.setdefault(service_id, [])
        if all(row["id_type"] != "lei" for row in rows):
            rows.append({"id_type": "lei", "id_value": claims.leis[service_id]})
    return by_id


def _pointers(
    group: set[str],
    declared: dict[str, str],
    identifiers_of: dict[str, list[_Row]],
    claims: Claims,
) -> Iterator[dict[str, str]]:
    """Choose the id that the others of a group point to, and return a row for each of them."""
    declared_targets = {declared[service_id] for service_id in group if service_id in declared}
    # An id that a register calls a duplicate is no target, unless all of the group are.
    possible_targets = {service_id for service_id in group if service_id not in declared} or group
    target = min(
        possible_targets,
        key=lambda service_id: _rank(
            service_id, identifiers_of.get(service_id, []), service_id in declared_targets
        ),
    )
    for service_id in group - {target}:
        is_declared = service_id in declared or service_id in declared_targets
        shared_type = _strongest_shared(group, identifiers_of.get(service_id, []), claims)
        method = shared_type or ("declared" if is_declared else "lei")
        method = "registry_id" if method == "registry" else method
        yield {"service_id": service_id, "same_as": target, "match_method": method}


def _rank(
    service_id: str, rows: list[_Row], is_declared_target: bool
) -> tuple[int, bool, int, str]:
    """Rank by the identifier an id was minted from, else by the strongest it has."""
    # An id known only as the target of a register's pointer was minted from an LEI.
    if is_declared_target and not rows:
        return 0, False, 0, service_id
    strengths = [_strength(row) for row in rows if service_id == _minted_id(row)]
    minted_from = min(strengths, default=None)
    strongest = min((_strength(row) for row in rows), default=_WEAKEST)
    first = strongest if minted_from is None else minted_from
    return first, minted_from is None, strongest, service_id


def _minted_id(row: _Row) -> str | None:
    """Return the id that is minted from an identifier; None if it identifies nothing."""
    id_type, value = row["id_type"], row["id_value"]
    if id_type == "registry":
        value = f"{row.get('issuer')}:{value}"
    return None if _key_of(row) is None else mint(id_type, value)


def _strength(row: _Row) -> int:
    return STRENGTH.index(row["id_type"])


def _strongest_shared(group: set[str], rows: list[_Row], claims: Claims) -> str | None:
    """Return the strongest type of identifier that an id shares with another of its group."""
    for row in sorted(rows, key=_strength):
        key = _key_of(row)
        if key and len(claims.shared.get(key, set()) & group) > 1:
            return str(row["id_type"])
    return None
