"""Macroeconomic indicators and series; start with ``sources``."""
