"""The parts of the ``sankofa`` command; each loads what it needs only when it runs."""
