"""The key store: API keys with their tiers, in an LMDB file or a Redis.

A key is shown once and stored as its SHA-256 with a short public prefix. The sandbox key is public:
it alone is also stored in clear, to be shown again. Start with ``store.py``. Counting requests
does not belong here: see ``warehouse.usage``.
"""
