"""What REST and MCP promise alike: parameters, problems, limits, pagination, response schemas.

Start with ``parameters.py`` (every parameter) and ``problems.py`` (every error). Reading rows is
the business of ``warehouse.serve``; writing HTTP or MCP messages that of the two surfaces.
"""

API_VERSION = "1.0.0"
