"""Which service_ids are one organisation, and which of them the others point to.

Ids are one by the same LEI, the same number of the same register, or the same ISIN of a listed
security. A number in two registers is two numbers. Two valid LEIs are two organisations, however
much else they share (an umbrella fund and its sub-funds give one register number), unless GLEIF
itself calls one the duplicate of the other.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assets.entities.claims import ENTITY, IDENTIFIER, Claims, claims_of, key_of
from assets.entities.groups import Groups
from assets.entities.ids import mint
from assets.entities.known import Rows, rows_of

STRENGTH = ("lei", "registry", "cik", "isin", "ticker")

_WEAKEST = len(STRENGTH)

_Row = Mapping[str, Any]


def same_as(identifiers: Rows, entities: Rows) -> list[dict[str, str]]:
    """Give a row for every id that points to another: both ids, and by which evidence.

    The id of the strongest identifier is pointed to, by all others of the organisation and
    directly. The order of what is known makes no difference.
    """
    claims, declared = claims_of(identifiers, entities), _declared(entities)
    found = list(_organisations(claims, declared))
    carried = _carried(identifiers, {each for group in found for each in group}, claims)
    rows = (row for group in found for row in _pointing(group, declared, carried, claims))
    return sorted(rows, key=lambda row: row["service_id"])


def _declared(entities: Rows) -> dict[str, str]:
    """Give what registers themselves say; of two sayings the smaller id."""
    declared: dict[str, str] = {}
    for row in rows_of(entities, ENTITY):
        other = row.get("same_as")
        if other and other != row["service_id"]:
            declared[row["service_id"]] = min(other, declared.get(row["service_id"], other))
    return declared


def _organisations(claims: Claims, declared: dict[str, str]) -> Iterator[set[str]]:
    """Group the ids; where weaker evidence would join two LEIs, only the strong one counts."""
    by_lei = [ids for key, ids in claims.shared.items() if key[0] == "lei"]
    strong = Groups([*declared.items(), *by_lei])
    certain = {strong.of(next(iter(group))): group for group in strong.groups()}

    def tops(ids: Iterable[str]) -> set[str]:
        """Name the organisations with an LEI among some ids."""
        return {strong.of(each) for each in ids if each in claims.leis}

    weak = [ids for ids in _weak(claims) if len(tops(ids)) < 2]
    for group in Groups([*certain.values(), *weak]).groups():
        if len(tops(group)) < 2:
            yield group
        else:
            yield from (certain[top] for top in {strong.of(each) for each in group} & set(certain))


def _weak(claims: Claims) -> Iterator[set[str]]:
    """Give who shares a register number, or an ISIN that a market lists."""
    yield from (ids for key, ids in claims.shared.items() if key[0] != "lei" and claims.joins(key))


def _carried(identifiers: Rows, ids: set[str], claims: Claims) -> dict[str, list[_Row]]:
    """Give what each id bears; of ISINs, of which a fund has thousands, those that join."""
    carried: dict[str, list[_Row]] = {}
    for row in rows_of(identifiers, IDENTIFIER):
        if row["service_id"] in ids and row["id_type"] in STRENGTH:
            key = key_of(row)
            if row["id_type"] != "isin" or (key and claims.joins(key)):
                carried.setdefault(row["service_id"], []).append(row)
    for each in ids & claims.leis.keys():
        rows = carried.setdefault(each, [])
        if all(row["id_type"] != "lei" for row in rows):
            rows.append({"id_type": "lei", "id_value": claims.leis[each]})
    return carried


def _pointing(
    group: set[str], declared: dict[str, str], carried: dict[str, list[_Row]], claims: Claims
) -> Iterator[dict[str, str]]:
    pointed = {declared[each] for each in group if each in declared}
    ends = {each for each in group if each not in declared} or group
    target = min(ends, key=lambda each: _rank(each, carried.get(each, []), each in pointed))
    for each in group - {target}:
        told = "declared" if each in declared or each in pointed else "lei"
        evidence = _evidence(group, carried.get(each, []), claims) or told
        yield {"service_id": each, "same_as": target, "evidence": evidence}


def _rank(service_id: str, rows: list[_Row], pointed: bool) -> tuple[int, bool, int, str]:
    """Rank by the identifier it was minted from, else by the strongest it carries.

    An id of which only a register's pointer is known was minted from an LEI.
    """
    if pointed and not rows:
        return 0, False, 0, service_id
    minted = min((_strength(row) for row in rows if service_id == _mints(row)), default=None)
    borne = min((_strength(row) for row in rows), default=_WEAKEST)
    return borne if minted is None else minted, minted is None, borne, service_id


def _mints(row: _Row) -> str | None:
    """Give the id that is minted from an identifier; None where it names nothing."""
    kind, value = row["id_type"], row["id_value"]
    if kind == "registry":
        value = f"{row.get('issuer')}:{value}"
    return None if key_of(row) is None else mint(kind, value)


def _strength(row: _Row) -> int:
    return STRENGTH.index(row["id_type"])


def _evidence(group: set[str], rows: list[_Row], claims: Claims) -> str | None:
    """Name the strongest kind of identifier that an id shares with another of its group."""
    for row in sorted(rows, key=_strength):
        key = key_of(row)
        if key and len(claims.shared.get(key, set()) & group) > 1:
            return str(row["id_type"])
    return None
