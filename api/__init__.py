"""The REST service: Falcon over the read functions of the warehouse, served by waitress.

Start with ``app.py`` (routes and middleware) and ``serve.py`` (processes and sockets).
``endpoints`` declares endpoints and reads and writes their requests and responses, ``resources``
holds the handlers, ``server`` everything about waitress. Imports go root → resources → endpoints
and root → server, never back. Queries do not belong here: see ``warehouse.serve``.
"""
