"""Parties of tenders in every vintage, each with the organisation that it is."""

_STATED = ("source", "country", "party_key", "name", "identifier_scheme", "identifier_id")
_SAME = " AND ".join(f"matched.{name} IS NOT DISTINCT FROM party.{name}" for name in _STATED)

# Only those that are established to be organisations: a withheld party is in no file. Who one
# is, is what the data_version knows and follows no ``as_of``; its id is the one the API serves.
PARTIES = f"""
SELECT party.*, matched.service_id, matched.match_method,
    md5(concat_ws('/', party.source, party.country, party.party_key, party.role,
        coalesce(matched.service_id, '-'))) AS party_id
FROM tender_parties AS party LEFT JOIN party_matches AS matched ON {_SAME}
WHERE party.name IS NOT NULL AND party.org_evidence IS NOT NULL
""".strip()
