"""Everything that is made from the sources: fetched, parsed, derived and exported.

A source becomes rows in four steps, and imports point from right to left::

    fetching, parsing  <-  source  <-  tenders, filings, macro, entities  <-  ingest

``fetching`` has the HTTP client and its manners, ``parsing`` what all parsers share, and ``source``
the declaration of a source. Each subject declares its sources in ``sources.py``, next to their
fetchers and parsers. ``ingest`` turns them into Dagster assets that land and load documents.

From the loaded record, ``derive`` makes tables, ``exports`` the bulk files, and ``page_data`` what
pages show of a whole build.

Start with ``source.py``, then ``sources.py`` of a subject. Not here: how rows are stored and read
(``warehouse``), what may be published (``quality``), schedules and commands (``pipelines``).
"""
