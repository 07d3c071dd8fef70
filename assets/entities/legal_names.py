"""Names by which organisations are compared, in SQL; see ``warehouse.legal_names``."""

from warehouse.legal_names import SHORT_FORMS

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
