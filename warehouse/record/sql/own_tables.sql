-- What the record asks of the tables that it keeps about itself.
--
-- Inputs: loads, erased, versions, quarantine, retries, withheld, and a table of the record
-- (relation)
-- Outputs: unaffected_loads, versions_with, unshown_withdrawals, quarantined, quarantine_groups,
-- tombstones (queries)

-- name: unaffected_loads
-- All loads, each with the documents that need not be read again. A document that states what an
-- erased one had stated before it was counted as read, and none of that was stored: so the
-- documents of the source that were observed from then on, and were read before the erasure, count
-- as not read. The key of a document ends with the moment at which it was observed, in a form that
-- sorts. Of several erasures the earliest document counts.
SELECT
    loads.* REPLACE (
        [
            document FOR document IN documents
            IF first_observed IS NULL OR split_part(document, '-', 3) < first_observed
        ] AS documents
    )
FROM {{ loads }} AS loads LEFT JOIN (
    SELECT
        source,
        erased_at,
        strftime(first_observed_at, '%Y%m%dT%H%M%S%f') AS first_observed
    FROM {{ erased }} WHERE kept_days IS NULL
) AS erased ON erased.source = loads.source AND loads.loaded_at < erased.erased_at
QUALIFY
    row_number() OVER (
        PARTITION BY loads.load_id, loads.table_name, loads.loaded_at
        ORDER BY first_observed NULLS LAST
    ) = 1;

-- name: versions_with
-- Every data_version that contains rows of a table loaded from its first_load on.
SELECT DISTINCT data_version
FROM {{ versions }}
INNER JOIN ({{ first_loads }}) AS first_loads USING (table_name)
WHERE load_seq >= first_load
ORDER BY data_version;

-- name: unshown_withdrawals
-- Withdrawals of figures that nothing but a document had shown: a later document withdrew them, and
-- repeats their identity. A withdrawal of a figure that no document ever showed is a statement of
-- its own, and stays.
SELECT DISTINCT sighting FROM {{ relation }} AS withdrawal
SEMI JOIN (SELECT * FROM {{ relation }} WHERE NOT withdrawn AND {{ of_document }}) AS erased
    ON erased.figure = withdrawal.figure AND erased.figure_check = withdrawal.figure_check
ANTI JOIN (SELECT * FROM {{ relation }} WHERE NOT withdrawn AND NOT {{ of_document }}) AS shown
    ON shown.figure = withdrawal.figure AND shown.figure_check = withdrawal.figure_check
WHERE withdrawal.withdrawn;

-- name: quarantined
-- All quarantined rows, each with its last retry.
SELECT quarantined.*, last_retry.became, last_retry.retried_at
FROM {{ quarantine }} AS quarantined LEFT JOIN (
    SELECT quarantine_id, arg_max(became, retried_at) AS became, max(retried_at) AS retried_at
    FROM {{ retries }} GROUP BY quarantine_id
) AS last_retry USING (quarantine_id);

-- name: quarantine_groups
-- Open: never read again (null), or refused again.
SELECT
    source,
    table_name,
    reason,
    count(*) AS records,
    count(*) FILTER (became IS DISTINCT FROM 'read') AS open,
    count(DISTINCT document) AS documents,
    max(quarantined_at) AS last_quarantined_at,
    min(quarantine_id) AS example
FROM ({{ quarantined }}) WHERE {{ condition }}
GROUP BY source, table_name, reason
ORDER BY records DESC, source, table_name, reason;

-- name: tombstones
-- The last entry of everything ever withheld. Of two entries of one moment: a thing is released
-- only by a later entry.
SELECT * FROM {{ withheld }}
QUALIFY
    row_number() OVER (
        PARTITION BY withheld_id
        ORDER BY entered_at DESC, released
    ) = 1
ORDER BY entered_at, withheld_id;
