"""Parties of tenders as they are served: one row for each party, role and organisation."""

from warehouse.mart.shapes import PROVENANCE

_STATED = ("source", "country", "party_key", "name", "identifier_scheme", "identifier_id")
SAME_PARTY = " AND ".join(f"matched.{name} IS NOT DISTINCT FROM party.{name}" for name in _STATED)
PARTY_ID = "md5(concat_ws('/', source, country, party_key, role, coalesce(service_id, '-')))"

# What the newest release says of the party, and where.
_SHOWN = (
    "name",
    "identifier_scheme",
    "identifier_id",
    "match_method",
    "org_evidence",
    *PROVENANCE,
)

# Each party of the latest releases with who it is, where that is known. Who it is, is what
# the data_version knows and follows no ``as_of``. Withheld ones have no name and are left out.
RESOLVED = f"""
SELECT party.*, matched.service_id, matched.match_method
FROM tender_parties AS party LEFT JOIN party_matches AS matched ON {SAME_PARTY}
WHERE party.latest AND party.name IS NOT NULL
""".strip()

PARTIES = f"""
WITH grouped AS (
    SELECT source, country, party_key, role, service_id, count(*) AS releases,
        min(released_on) AS first_release, max(released_on) AS last_release,
        arg_max(
            {{{", ".join(f"'{name}': {name}" for name in _SHOWN)}}},
            concat_ws('/', coalesce(released_on, DATE '0001-01-01'), ocid, release_id)
        ) AS shown
    FROM ({RESOLVED}) GROUP BY ALL
)
SELECT
    {PARTY_ID} AS party_id,
    source, country, party_key, role, service_id, releases, first_release, last_release,
    unnest(shown),
    CASE WHEN shown.identifier_id IS NOT NULL
        THEN {{'scheme': shown.identifier_scheme, 'id': shown.identifier_id}}
    END AS identifier
FROM grouped
""".strip()
