"""From every source to the record: fetch, land, load, as functions and as Dagster assets.

Start with ``sources`` (all sources), ``recordings`` (files, as if they had been fetched) and
``load`` (documents to record); ``assets`` wraps them for Dagster. Only this package and those
above it know all subjects; a subject imports nothing from here.
"""
