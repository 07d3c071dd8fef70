-- The exchange on which each issuer is listed first.
--
-- Inputs: identifiers
-- Outputs: first_listings (query)

-- name: first_listings
-- By the first day of the listing, as far as a list states it; else in the order of their codes.
SELECT
    service_id,
    arg_min(
        split_part(id_value, ':', 1),
        row(coalesce(valid_from, DATE '9999-12-31'), upper(id_value))
    ) AS mic
FROM identifiers
WHERE latest AND id_type = 'ticker'
GROUP BY service_id
ORDER BY service_id;
