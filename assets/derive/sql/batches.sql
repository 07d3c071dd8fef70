-- Batches of issuers, all with about as many facts.
--
-- Inputs: fundamentals
-- Outputs: batches (query)

-- name: batches
-- The first and the last issuer of each batch of about $batch_facts facts.
SELECT min(service_id) AS first_issuer, max(service_id) AS last_issuer
FROM (
    SELECT
        service_id,
        (sum(count(*)) OVER (ORDER BY service_id) - 1) // $batch_facts AS batch
    FROM fundamentals
    GROUP BY service_id
)
GROUP BY batch
ORDER BY batch;
