"""Public procurement, as portals publish it in OCDS; start with ``sources`` and ``parse``."""
