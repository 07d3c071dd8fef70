"""Endpoints as data, and what follows from a declaration.

``endpoints.csv`` lists every endpoint. From it ``endpoint.py`` reads parameters, ``response.py``
writes bodies and ``openapi.py`` writes the description. Handlers are in ``api.resources``.
"""
