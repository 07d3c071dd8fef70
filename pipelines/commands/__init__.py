"""The ``sankofa`` command line; start with ``main.py``.

Each module is one group of subcommands: options, output and nothing else. Heavy imports are
inside the functions, so that ``sankofa --help`` is fast. The work itself is done in ``pipelines``.
"""
