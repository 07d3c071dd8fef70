"""How Sankofa is run: Dagster definitions and jobs, publication, supervision of servers.

Start with ``definitions.py`` (what Dagster runs) and ``commands/main.py`` (the command line).
How a source is fetched and parsed is in ``assets``; what is stored and served is in ``warehouse``.
"""
