"""Tender releases as they are served, with what they are asked by: buyer and words."""

from warehouse.mart.parties import RESOLVED

RELEASES_ORDER = (
    "country, coalesce(CAST(released_on AS VARCHAR), '') DESC, ocid DESC, release_id DESC, "
    "source DESC, vintage"
)

RELEASES = f"""
WITH bought AS (
    SELECT source, ocid, release_id, min(service_id) AS buyer_id
    FROM ({RESOLVED}) WHERE role = 'buyer' AND service_id IS NOT NULL GROUP BY ALL
)
SELECT released.* REPLACE (string_split(tag, ',') AS tag), released_on AS date,
    json_keys(release) AS release_members, bought.buyer_id
FROM tender_releases AS released
LEFT JOIN bought ON bought.source = released.source AND bought.ocid = released.ocid
    AND bought.release_id = released.release_id
""".strip()
