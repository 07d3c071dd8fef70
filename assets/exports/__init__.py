"""Bulk files of a build: Parquet with every vintage, a signed manifest, and descriptions.

Start with ``export.export``. ``artifacts`` declares the files and their columns,
``write_artifact`` writes one of them and its delta. Reading what was exported belongs to
``warehouse.serve.exports``, since the surfaces do that too.
"""
