"""Organisations, their identifiers and listings.

Start with ``sources``, which declares each source, its parser and its fetcher. ``gleif``,
``mappings`` and ``openfigi`` parse documents; ``exchange_lists`` parses lists of exchanges, whose
columns ``exchange_lists.toml`` declares. ``markets`` knows MICs, from what ``mic_lists`` reads.
``derive`` runs when a build is made: ``joined_ids`` finds service_ids of the same organisation,
``resolve_parties`` the organisation of a tender party. Every service_id comes from
``identifiers.mint``.

Whether a name is that of a person is decided in ``quality.persons``, not here.
"""
