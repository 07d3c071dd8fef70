"""Signals: what public tenders show of a country, month by month, as known at each closing.

Start with ``derive``. ``calendar`` numbers months and closings, ``process_states`` merges releases
into states, ``rolling_windows`` sums over months, and ``raw_measures`` divides; the other modules
are panels. What the panels mean is in ``warehouse.methodology.signals``, not here.
"""
