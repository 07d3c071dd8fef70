"""``sankofa verify``: what is held, compared with what was written; start with ``examine.py``.

Each module checks one store and yields what is damaged. ``repair.py`` makes again what can be made.
"""
