"""What is stored and how it is read. Imports no other top-level package.

``tables`` defines every row, ``record`` stores them append-only, ``mart`` builds the tables that
``read`` queries, ``contract`` is what both surfaces promise, ``methodology`` explains derived
values; ``keys``, ``usage`` and ``exports`` are what serving needs besides. Start with ``tables``
and ``record``.

The modules directly in this folder are shared by all of them and import none of them.
"""
