"""The control database: API keys, and every action of an operator with who, when, what and why.

A SQLite file, or a PostgreSQL for several machines. ``models.py`` declares its tables, opens and
checks it, and keeps the trail of operators; ``keys.py`` is what a request and ``sankofa keys`` need
of it. Counting requests does not belong here: see ``warehouse.serve.usage``.
"""
