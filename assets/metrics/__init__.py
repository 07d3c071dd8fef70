"""Metrics: the formulas of metrics-v1 over every full year of every issuer.

Start with ``derive``. ``yearly_inputs`` turns vintages into the inputs of each year,
``chosen_statements`` decides which statement counts and why a value is absent, and ``values``
divides. The formulas themselves are in ``warehouse.methodology.metrics``, not here.
"""
