"""A bridge between an agent that speaks MCP over stdio and a Sankofa server that speaks HTTP.

``bridge.py`` is all of it: ``mcp/mcp_server/stdio_bridge.py`` of the service, which runs on the
standard library alone and is put here when the package is built.
"""
