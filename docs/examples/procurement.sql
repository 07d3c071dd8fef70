-- A procurement dashboard: one row per country and year, from the open panels, without a key.
--     duckdb < docs/examples/procurement.sql
-- Every share is shown with the number of processes it was measured on. Change as_of for an older view.
SET VARIABLE as_of = DATE '2026-06-30';

WITH panels AS (
    SELECT * FROM read_parquet([
        'http://127.0.0.1:8321/exports/latest/single-bid-rate.parquet',
        'http://127.0.0.1:8321/exports/latest/submission-window.parquet',
        'http://127.0.0.1:8321/exports/latest/cancellation-rate.parquet',
        'http://127.0.0.1:8321/exports/latest/award-concentration.parquet'
    ])
    WHERE dimension = 'all' AND available_at <= getvariable('as_of')
        AND (superseded_at IS NULL OR superseded_at > getvariable('as_of'))
),
yearly AS (
    SELECT country, year(month) AS year, measure, sum(n_eligible)::INT AS processes,
        sum(n_observed)::INT AS observed,
        round(sum(value * n_observed) / nullif(sum(n_observed), 0), 2) AS share,
        round(arg_max(value, month), 2) AS at_year_end
    FROM panels GROUP BY ALL
)
SELECT country, year,
    any_value(processes) FILTER (measure = 'single_bid_rate') AS processes,
    any_value(observed) FILTER (measure = 'single_bid_rate') AS with_bids,
    any_value(share) FILTER (measure = 'single_bid_rate') AS single_bid,
    any_value(share) FILTER (measure = 'share_under_15_days') AS under_15_days,
    any_value(share) FILTER (measure = 'cancellation_rate') AS cancelled,
    any_value(at_year_end) FILTER (measure = 'supplier_hhi') AS supplier_hhi
FROM yearly GROUP BY ALL ORDER BY country, year;
