"""The version of this client, as ``pyproject.toml`` states it."""

__version__ = "1.0.0"
