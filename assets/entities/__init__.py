"""Organisations, their identifiers and listings; start with ``sources``."""
