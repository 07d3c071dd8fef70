"""The queries of a build, as functions that REST, MCP and the command line share.

Start with ``build.Mart`` (which build is read), then ``rows`` (conditions, and pages of rows) and
one module of queries, such as ``fundamentals``. Rows come out as JSON bytes, written when the
build was made; ``packs`` reads tables whose rows are stored in packs. Nothing here knows HTTP or
tiers, and nothing imports Arrow or DuckDB.
"""
