"""Quality: what must hold before anything is published, and the rules that keep people out.

Start with ``audit``: it measures the ``floors``, runs the ``suites`` and looks for ``losses``.
``persons`` decides whether a name is an organisation's, ``contacts`` removes contacts; both are
also used while documents are parsed, so importing them is cheap. Nothing here fetches, parses or
publishes.
"""
