"""Falcon resources, one module per subject: parse the request, call one read, send the rows.

Start with ``declared.py``. No SQL and no parameter parsing here: see ``warehouse.serve`` and
``api.endpoints``.
"""
