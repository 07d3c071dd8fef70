"""Fetching over HTTP: one client for all sources, and what their fetchers share."""
