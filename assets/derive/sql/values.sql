-- The inputs of metrics as answers show them, and the outcomes that have a value.
--
-- Python divides: sums of values do not fit into 64 bits, and a value is rounded once.
--
-- Inputs: outcomes, stated, facts
-- Outputs: input_facts, computable (queries)

-- name: input_facts
-- The facts behind all inputs, with each of them as it is served.
SELECT
    statement_no, value_reported, stated_at, source_ref, provenance_id, method, observed_at,
    extraction_confidence,
    list_position($licences, license_class) - 1 AS license_rank,
    -- an input as it is served: encoded once, here, and not per request; the fact is the current
    -- vintage, the source is the publication that states it together with the others
    concat(
        '{"fact_id":"', row_id,
        '","line_item":"', line_item,
        -- a number without the zeros that DECIMAL(38, 18) appends
        '","value":', rtrim(rtrim(CAST(value_reported AS VARCHAR), '0'), '.'),
        ',"period_end":"', period_end,
        '","vintage":', vintage,
        ',"available_at":"', available_at,
        '","document_id":', coalesce(to_json(document_id), 'null'),
        ',"form":', coalesce(to_json(form), 'null'),
        ',"document_url":', coalesce(to_json(document_url), 'null'),
        ',"source_ref":', to_json(source_ref),
        '}'
    ) AS json
FROM stated
JOIN facts USING (figure, figure_check, vintage)
SEMI JOIN (SELECT unnest([*COLUMNS('^input_[0-9]$')]) AS statement_no FROM outcomes) AS cited
    USING (statement_no);

-- name: computable
-- The outcomes that have a value, if the condition of their formula is met; metric by metric.
SELECT *, 'FY' AS period_type
FROM outcomes
WHERE reason IS NULL
ORDER BY metric_no, service_id, period_end;
