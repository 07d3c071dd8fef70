"""Macroeconomic indicators and series: World Bank, ECB and other SDMX, ALFRED, H.10.

Start with ``sources``, which declares each source, its parser and its fetcher. A parser turns one
document into rows of ``macro_annual`` or ``macro_series``; ``iso_codes`` and ``periods`` are what
parsers share. ``fetch`` only does requests.

Reading strictly (numbers, days, text) belongs to ``assets.parsing``, HTTP to ``assets.fetching``.
"""
