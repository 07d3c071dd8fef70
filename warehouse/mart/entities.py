"""Organisations as they are served: one record each, with listings and datasets."""

from warehouse.mart.vintages import VintagesOf
from warehouse.record.tables import ENTITIES, FUNDAMENTALS, IDENTIFIERS


def current_entities(vintages: VintagesOf) -> str:
    """Write the query for one current record of each organisation.

    Where several registers speak of one, the record with an LEI goes first, then the newest;
    members of two registers are never mixed, since a row has one source.
    """
    return f"""
WITH listed AS (
    SELECT DISTINCT service_id, id_value, status
    FROM ({vintages(IDENTIFIERS)}) WHERE latest AND id_type = 'ticker'
),
listings AS (
    SELECT service_id, list({{
        'mic': split_part(id_value, ':', 1),
        'ticker': substr(id_value, strpos(id_value, ':') + 1),
        'status': status
    }} ORDER BY id_value, status) AS listings
    FROM listed GROUP BY service_id
),
issuers AS (SELECT DISTINCT service_id FROM ({vintages(FUNDAMENTALS)}) WHERE latest)
SELECT entity.*,
    coalesce(listings.listings, []) AS listings,
    CASE WHEN issuers.service_id IS NULL THEN [] ELSE ['AF-FUND'] END AS datasets
FROM ({vintages(ENTITIES)}) AS entity
LEFT JOIN listings ON listings.service_id = entity.service_id
LEFT JOIN issuers ON issuers.service_id = entity.service_id
WHERE latest
QUALIFY row_number() OVER (
    PARTITION BY entity.service_id
    ORDER BY entity.lei IS NULL, entity.available_at DESC NULLS LAST, entity.source
) = 1
""".strip()
