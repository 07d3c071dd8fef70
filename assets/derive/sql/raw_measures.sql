-- Measures before division, as whole numbers per row and closing.
--
-- The value of a row is
--   of kind ratio: term1 / denominator, both of which are served
--   of kind quantile: the same, but neither says anything by itself
--   of kind hhi:   (term1 * half² + 2 * term2 * half + term3) / denominator²
--   of kind pair:  the mean of term1 / term2 and term3 / denominator.
-- A denominator of 0 means that nothing was observed: there is no value. A square of a large sum
-- does not fit into 128 bits: it is summed as three products of the halves of its base, split at
-- half. Python divides: a value is rounded once, to ten digits, and operands are larger than the
-- numbers of DuckDB.
--
-- Inputs: none
-- Outputs: raw (table)

-- name: raw
-- No nulls among the numbers: quotients are joined back on them, and null equals nothing.
CREATE TEMP TABLE raw (
    panel {{ panels }},
    country_no INTEGER,
    month_no INTEGER,
    dimension {{ dimensions }} DEFAULT 'all',
    dimension_value VARCHAR DEFAULT 'all',
    party_no INTEGER,
    measure {{ measures }},
    currency INTEGER,
    closing_no INTEGER,
    kind ENUM('ratio', 'quantile', 'hhi', 'pair') DEFAULT 'ratio',
    term1 HUGEINT NOT NULL DEFAULT 0,
    term2 HUGEINT NOT NULL DEFAULT 0,
    term3 HUGEINT NOT NULL DEFAULT 0,
    denominator HUGEINT NOT NULL DEFAULT 0,
    n_eligible BIGINT NOT NULL DEFAULT 0,
    n_observed BIGINT NOT NULL DEFAULT 0,
    n_withheld BIGINT NOT NULL DEFAULT 0,
    -- no other closing of the month has a row of this key
    is_only BOOLEAN DEFAULT FALSE
);
