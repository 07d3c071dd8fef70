"""The MCP surface: the same reads, the same key, for agents."""
