"""Organisations as they are served: one record each, with listings and datasets."""

# Where several registers speak of one, the record with an LEI goes first, then the newest;
# members of two registers are never mixed, since a row has one source. Of two ids found to
# be one organisation both have their record, and ``same_as`` of the one names the other; the
# listings and the datasets are those of the organisation.
CURRENT_ENTITIES = """
WITH listed AS (
    SELECT DISTINCT coalesce(same_as, service_id) AS organisation, id_value, status
    FROM identifiers LEFT JOIN same_as USING (service_id) WHERE latest AND id_type = 'ticker'
),
listings AS (
    SELECT organisation, list({
        'mic': split_part(id_value, ':', 1),
        'ticker': substr(id_value, strpos(id_value, ':') + 1),
        'status': status
    } ORDER BY id_value, status) AS listings
    FROM listed GROUP BY organisation
),
spoken AS (
    SELECT service_id, 'AF-FUND' AS dataset FROM fundamentals WHERE latest
    UNION SELECT service_id, 'AF-TENDER' FROM party_matches WHERE service_id IS NOT NULL
),
datasets AS (
    SELECT coalesce(same_as, service_id) AS organisation,
        list(DISTINCT dataset ORDER BY dataset) AS datasets
    FROM spoken LEFT JOIN same_as USING (service_id) GROUP BY 1
)
SELECT
    entity.* REPLACE (
        pointing.same_as AS same_as, CAST(entity.other_names AS JSON) AS other_names
    ),
    countries.country_iso3,
    coalesce(listings.listings, []) AS listings,
    coalesce(datasets.datasets, []) AS datasets
FROM entities AS entity
LEFT JOIN same_as AS pointing ON pointing.service_id = entity.service_id
LEFT JOIN listings ON listings.organisation = coalesce(pointing.same_as, entity.service_id)
LEFT JOIN datasets ON datasets.organisation = coalesce(pointing.same_as, entity.service_id)
LEFT JOIN countries ON countries.country = entity.country
WHERE latest
QUALIFY row_number() OVER (
    PARTITION BY entity.service_id
    ORDER BY entity.lei IS NULL, entity.available_at DESC NULLS LAST, entity.source
) = 1
""".strip()

# Each identifier of an organisation once: also those of the ids that point to it, and the
# LEI of its own record where no file maps it.
CURRENT_IDENTIFIERS = f"""
WITH held AS (
    SELECT service_id, id_type, id_value, issuer, status, available_at, source, source_ref,
        license_class, observed_at
    FROM identifiers WHERE latest
    UNION ALL BY NAME
    SELECT service_id, 'lei' AS id_type, lei AS id_value, lei_status AS status, available_at,
        source, source_ref, license_class, observed_at
    FROM ({CURRENT_ENTITIES}) WHERE lei IS NOT NULL
),
owned AS (
    SELECT held.*, coalesce(pointing.same_as, held.service_id) AS organisation,
        translate(id_value, 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ') AS id_match
    FROM held LEFT JOIN same_as AS pointing ON pointing.service_id = held.service_id
)
SELECT * FROM owned
QUALIFY row_number() OVER (
    PARTITION BY organisation, id_type, id_match, CASE WHEN id_type <> 'lei' THEN issuer END
    ORDER BY service_id <> organisation, issuer IS NULL, available_at DESC NULLS LAST, source
) = 1
""".strip()
