"""Everything that is made from the sources: fetched, parsed, derived and exported."""
