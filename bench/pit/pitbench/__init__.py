"""An open benchmark for point-in-time data: what was knowable on a past day, and nothing later.

Read ``RULES.md`` first. ``model.py`` has the words, ``reader_python.py`` and ``reader_sql.py`` work
out the truth independently of each other, ``questions.py`` draws questions, ``scoring.py`` judges
answers and ``__main__.py`` runs all of it. Adapters are in ``adapters/``.
"""
