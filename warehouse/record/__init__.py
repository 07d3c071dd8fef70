"""The append-only record: its tables, its only writer, and what was known on a date."""
