"""Bulk files of a build: Parquet with every vintage, a signed manifest, and descriptions."""
