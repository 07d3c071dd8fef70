"""The MCP server: the data of the REST service for language models.

Start with ``tools.py`` (what a model can call) and ``app.py`` (the server). ``guard.py``,
``exchange.py`` and ``worker.py`` are the transport over HTTP; ``stdio_bridge.py`` lets agents of
this machine use it over stdio. Queries are in ``warehouse.serve``, shared with REST.
"""
