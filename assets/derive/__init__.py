"""What is derived from a snapshot: joined organisations, metrics, signals, silent revisions."""
