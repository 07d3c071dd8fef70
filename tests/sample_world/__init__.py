"""A fictional world in the wire formats of the real sources.

``python -m tests.sample_world`` writes the archive that the package has. Start with
``world.write_world``. ``organisations`` and ``countries`` are who exists; ``sec``, ``portal_*``,
``macro_*``, ``registers`` and ``listings`` write the documents of their sources, by a
``writer.WorldWriter``. The same ``SampleWorld`` always has the same bytes: tests, documentation and
the archive rely on it.

Parsers of the real sources do not belong here, and nothing here imports them: otherwise a
mistake in a parser could hide behind the same mistake in its sample.
"""
