"""Macroeconomic indicators and series."""
