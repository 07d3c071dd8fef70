"""Legal names in comparable form: spelling, accents and the forms of companies do not matter.

Only what is convention is folded: "Ltd" and "Limited", "S.A." and "Société Anonyme", "&" and "and",
a leading "The". Two names are the same or they are not; nothing here measures likeness.
"""

import re
import unicodedata

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

# The short form, and how it is spelled out; both normalised.
_FORMS = {
    "ag": ("aktiengesellschaft",),
    "bv": ("besloten vennootschap",),
    "cc": ("close corporation",),
    "co": ("company",),
    "corp": ("corporation",),
    "gie": ("groupement dinteret economique",),
    "gmbh": ("gesellschaft mit beschrankter haftung",),
    "inc": ("incorporated",),
    "jsc": ("joint stock company",),
    "llc": ("limited liability company", "limited liability co"),
    "llp": ("limited liability partnership",),
    "ltd": ("limited",),
    "ltda": ("limitada", "lda"),
    "ltee": ("limitee",),
    "npc": ("non profit company", "nonprofit company"),
    "nv": ("naamloze vennootschap",),
    "plc": ("public limited company", "public limited co"),
    "pty": ("proprietary",),
    "pvt": ("private",),
    "sa": ("societe anonyme", "sociedad anonima", "sociedade anonima"),
    "sae": ("societe anonyme egyptienne",),
    "sarl": ("societe a responsabilite limitee",),
    "sas": ("societe par actions simplifiee", "sociedad por acciones simplificada"),
    "soc": ("state owned company",),
    "srl": ("sociedad de responsabilidad limitada", "societa a responsabilita limitata"),
    "suarl": ("societe unipersonnelle a responsabilite limitee",),
}
_SHORT_FORMS = {spelled: short for short, forms in _FORMS.items() for spelled in forms}
# Longest first, so that a form is not cut by a shorter one within it.
_SPELLED_OUT = re.compile(
    r"(?<!\S)(?:" + "|".join(sorted(_SHORT_FORMS, key=lambda form: (-len(form), form))) + r")(?!\S)"
)
# A name without forms and initials, in SQL. Names with the same normalised form have the same crude
# key, but for initials that are written apart; it selects the few that are worth normalising.
_FORM_WORDS = sorted({word for form in (*_FORMS, *_SHORT_FORMS, "the") for word in form.split()})
CRUDE_KEY = (
    "hash(regexp_replace(regexp_replace(regexp_replace(regexp_replace(replace(replace("
    "lower(strip_accents(name)), 'ß', 'ss'), '&', ' and '), '[''’‘ʼ`´]', '', 'g'), "
    "'\\b([a-z0-9])\\.', '\\1', 'g'), "
    f"'\\b(?:[a-z0-9]|{'|'.join(_FORM_WORDS)})\\b', '', 'g'), '[^a-z0-9]', '', 'g'))"
)
_INITIALS = re.compile(r"(?<!\w)(?:\w\.){2,}(?!\w)|(?<!\w)(?:\w\.)+\w(?!\w)")
# Single letters in a row, as in "s a".
_LETTERS = re.compile(r"(?<!\S)[^\W\d_](?: [^\W\d_])+(?!\S)")
_NO_WORD = re.compile(r"[^a-z0-9]+")
_DROPPED = dict.fromkeys(map(ord, "'’‘ʼ`´"))
# Marks from this class on are accents; those below are letters of their own in their script.
_ACCENT = 200


def normalise_name(name: str) -> str | None:
    """Return a name in comparable form; None if nothing of it is left."""
    # Apostrophes vanish rather than become blanks: "D'Ivoire" and "DIvoire" are one name.
    text = _unaccented(name).casefold().translate(_DROPPED).replace("&", " and ")
    text = _INITIALS.sub(_joined, text) if "." in text else text
    words = " ".join(_spaced(text).split())
    # "S A" and "S.A." are both "SA" to whoever writes them.
    words = _LETTERS.sub(lambda match: match[0].replace(" ", ""), words)
    words = _SPELLED_OUT.sub(lambda match: _SHORT_FORMS[match[0]], words)
    # Registers of companies disregard the article, and the SEC's drops it.
    return words.removeprefix("the ") or None


def _joined(initials: re.Match[str]) -> str:
    return initials[0].replace(".", "") + " "


def _unaccented(name: str) -> str:
    if name.isascii():
        return name
    parts = unicodedata.normalize("NFKD", name)
    bare = "".join(char for char in parts if unicodedata.combining(char) < _ACCENT)
    return unicodedata.normalize("NFC", bare)


def _spaced(text: str) -> str:
    """Replace everything but letters, marks and digits by a blank."""
    if text.isascii():
        return _NO_WORD.sub(" ", text)
    return "".join(char if char.isalnum() or _is_mark(char) else " " for char in text)


def _is_mark(character: str) -> bool:
    return not character.isascii() and unicodedata.category(character)[0] == "M"
