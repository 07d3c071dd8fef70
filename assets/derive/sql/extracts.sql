-- What the panel of listed issuers reads of registers and figures, for each partition of tenders.
-- Nothing else of them changes a signal.
--
-- Inputs: party_matches, identifiers, fundamentals, tender_partitions
-- Outputs: tickers, revenues (queries)

-- name: tickers
-- The tickers of the suppliers of a partition.
SELECT DISTINCT partition, service_id, id_type, latest
FROM party_matches
JOIN tender_partitions USING (source)
JOIN identifiers USING (service_id)
WHERE id_type = 'ticker' AND latest;

-- name: revenues
-- The revenue of those suppliers.
SELECT DISTINCT
    partition, service_id, line_item, unit, currency_reported, period_start, period_end, basis,
    available_at, superseded_at, vintage, publication, withdrawn, value_reported
FROM fundamentals
JOIN (
    SELECT DISTINCT partition, service_id
    FROM party_matches
    JOIN tender_partitions USING (source)
    JOIN identifiers USING (service_id)
    WHERE id_type = 'ticker' AND latest
) AS tickers USING (service_id)
WHERE line_item = 'revenue';
