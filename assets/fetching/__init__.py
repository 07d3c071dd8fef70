"""Fetching over HTTP: one client for all sources, and what their fetchers share.

Start with ``client``: it limits the rate, retries, checks bodies (``http_bodies``) and words
its errors. ``fetchers`` has the helpers that every ``assets/<subject>/fetch.py`` uses. What a
body means is none of this package's business: that belongs to the parsers.
"""
