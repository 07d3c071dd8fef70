"""What the parsers of all subjects share: the result type and strict readers."""
