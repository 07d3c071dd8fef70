"""The read functions that both surfaces call."""
