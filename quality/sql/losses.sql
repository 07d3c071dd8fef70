-- What is counted to find lost rows.
--
-- Inputs: a table of the snapshot (table); loads, the ledger of the record (loads)
-- Outputs: served_counts, loads (queries)

-- name: served_counts
-- The latest rows of a table by source.
SELECT source, count(*) AS row_count
FROM {{ table }}
WHERE latest
GROUP BY source
ORDER BY source;

-- name: loads
-- All loads in order, with hashes of their URLs and their records per fetch. A large document is
-- loaded in parts, of which only the last names it. If one load has several fetches of a URL, their
-- mean counts. The key of a document is its SHA-256, the hash of its URL and the time of the fetch,
-- joined by dashes.
WITH whole_loads AS (
    SELECT
        table_name, source, load_id, max(loaded_at) AS loaded_at,
        sum(appended + held) AS records,
        list_distinct(flatten(list(documents))) AS documents
    FROM {{ loads }}
    -- $visible has the last load of each table that belongs to the data_version
    WHERE load_seq <= $visible[table_name]
    GROUP BY ALL
),

with_urls AS (
    SELECT
        *,
        list_sort(list_distinct(list_transform(
            documents, LAMBDA document: split_part(document, '-', 2)
        ))) AS url_hashes
    FROM whole_loads
)

SELECT
    table_name, source, load_id, loaded_at, url_hashes,
    CAST(ceil(records * len(url_hashes) / len(documents)) AS BIGINT) AS records
FROM with_urls
WHERE len(url_hashes) > 0
ORDER BY loaded_at, load_id;
