"""The roles of parties as OCDS codes, however a portal writes them."""

from functools import lru_cache
from typing import Any, get_args

from assets.tenders.values import text
from warehouse.names.plain import plain_name
from warehouse.tables.tenders import Role

# Spanish and Portuguese words that portals use in place of the codes, without accents.
_WORDS = {
    "comprador": "buyer",
    "entidad compradora": "buyer",
    "organismo comprador": "buyer",
    "entidad que realiza la contratacion": "procuringEntity",
    "entidad contratante": "procuringEntity",
    "entidad convocante": "procuringEntity",
    "unidad contratante": "procuringEntity",
    "convocante": "procuringEntity",
    "entidade contratante": "procuringEntity",
    "proveedor": "supplier",
    "proveedor o contratista": "supplier",
    "contratista": "supplier",
    "adjudicatario": "supplier",
    "fornecedor": "supplier",
    "adjudicatario o proveedor": "supplier",
    "participante": "tenderer",
    "licitante": "tenderer",
    "oferente": "tenderer",
    "ofertante": "tenderer",
    "postor": "tenderer",
    "proponente": "tenderer",
    "concorrente": "tenderer",
    "pagador": "payer",
    "beneficiario de pago": "payee",
    "financiador": "funder",
    "entidad financiadora": "funder",
}
_BY_WORD = _WORDS | {plain_name(code): code for code in get_args(Role)}


def role_codes(value: Any) -> tuple[str, ...]:
    """Return the roles of a party; a word that is no known role stays as it is written."""
    values = tuple(value) if isinstance(value, list) else (value,)
    try:
        return _cached_codes(values)
    except TypeError:
        # An array or an object among them, which is no role and cannot be looked up.
        return _codes(values)


def _codes(values: tuple[Any, ...]) -> tuple[str, ...]:
    roles = (role for item in values if (role := text(item)))
    return tuple(dict.fromkeys(_BY_WORD.get(plain_name(role), role) for role in roles))


# Portals write a handful of roles, millions of times.
_cached_codes = lru_cache(maxsize=1 << 10)(_codes)
