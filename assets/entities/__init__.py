"""Organisations, their identifiers and listings.

Start with ``sources``, which declares each source, its parser and its fetcher. ``gleif``,
``mappings`` and ``openfigi`` parse documents; ``exchange_lists`` parses lists of exchanges, whose
columns ``exchange_lists.toml`` declares.
Every service_id comes from ``identifiers.mint``; which of them are the same organisation is found
in ``assets.derive`` when a build is made.

Whether a name is that of a person is decided in ``quality.persons``, not here.
"""
