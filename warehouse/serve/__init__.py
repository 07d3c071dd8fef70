"""How a build is read, by REST, MCP and the command line.

Start with ``build.Mart`` (which build is read), then ``rows`` (conditions, and pages of rows) and
``table_query`` (a query of one table, and why it has no rows). Rows come out as JSON bytes, written
when the build was made; ``packs`` reads them. Nothing here knows HTTP or tiers, and nothing imports
Arrow or DuckDB.
"""
