"""``sankofa doctor``: checks of an installation; start with ``examine.py``.

Each module checks one area and yields findings. Nothing here repairs anything.
"""
