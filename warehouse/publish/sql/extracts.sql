-- What steps by partition read of tables that have other partitions.
--
-- Inputs: party_matches; files of parties with the partition of each (files, pairs)
-- Outputs: parties_by_partition, tender_partitions (views); matches (query)

-- name: parties_by_partition
CREATE TEMP VIEW parties_by_partition AS
SELECT parties.*, partition
FROM read_parquet([{{ files }}], filename = TRUE) AS parties
JOIN (VALUES {{ pairs }}) AS copied (filename, partition) USING (filename);

-- name: tender_partitions
-- The country of each source, as the partitions of all its tenders are called.
CREATE TEMP VIEW tender_partitions AS
SELECT DISTINCT source, split_part(partition, '.', 1) AS partition
FROM parties_by_partition;

-- name: matches
-- Which organisations the parties of a partition are. A process has award facts if its supplier is
-- resolved in any process, under any of its spellings.
SELECT DISTINCT named.partition, matched.*
FROM party_matches AS matched
JOIN (SELECT DISTINCT partition, source, country, party_key FROM parties_by_partition) AS named
    USING (source, country, party_key);
