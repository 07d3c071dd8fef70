"""How derived values are computed: the rules as data, and the pages that explain them.

Start with ``metrics.py`` (ratios of reported figures) or ``signals.py`` (panels of public tenders).
``pages.py`` writes the page of each as Markdown from the same data.

The computation itself belongs to ``assets.derive``, row definitions to
``warehouse.tables``, which imports from here.
"""
