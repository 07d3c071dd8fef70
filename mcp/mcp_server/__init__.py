"""The MCP server: the data of the REST service for language models.

Start with ``tools.py`` (what a model can call) and ``app.py`` (the server). ``http.py`` and
``stdio.py`` are the transports. Queries are in ``warehouse.serve``, shared with REST.
"""
