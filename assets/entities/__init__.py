"""Organisations, their identifiers and listings."""
