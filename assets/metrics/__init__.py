"""Metrics: the formulas of metrics-v1 over every full year of every issuer.

Start with ``derive``, which runs the files in ``sql/`` in this order: ``yearly_inputs`` turns
vintages into the inputs of each year, ``publications`` says which of them were stated together,
``choices`` decides which publication counts and why a value is absent. Then ``values`` divides. The
formulas themselves are in ``warehouse.methodology.metrics``, not here.
"""
