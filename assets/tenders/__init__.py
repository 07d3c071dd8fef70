"""Public procurement, as portals publish it in OCDS."""
