"""Metrics: the formulas of metrics-v1 over every full year of every issuer."""
