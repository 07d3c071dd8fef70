"""From every source to the record: fetch, land, load, as functions and as Dagster assets."""
