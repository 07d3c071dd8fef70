"""Parties of tenders in every vintage, each with the organisation that it is."""

from warehouse.mart.parties import PARTY_ID, SAME_PARTY

# Only those that are established to be organisations: a withheld party is in no file. Who one
# is, is what the data_version knows and follows no ``as_of``; its id is the one the API serves.
PARTIES = f"""
SELECT *, {PARTY_ID} AS party_id
FROM (
    SELECT party.*, matched.service_id, matched.match_method
    FROM tender_parties AS party LEFT JOIN party_matches AS matched ON {SAME_PARTY}
    WHERE party.name IS NOT NULL AND party.org_evidence IS NOT NULL
)
""".strip()
