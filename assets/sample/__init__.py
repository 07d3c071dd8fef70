"""A fictional world in the wire formats of the real sources."""
