"""The published build: written whole, switched to at once."""
