"""What REST and MCP promise alike: lists, parameters, problems, limits, response schemas.

Start with ``lists.py`` (every list, those of one subject in a module such as ``issuers``), then
``parameters.py`` (every parameter) and ``problems.py`` (every error). Reading rows is the business
of ``warehouse.serve``; writing HTTP or MCP messages that of the two surfaces.
"""

API_VERSION = "1.0.0"
