"""The ports: free, held by a server of ours, or taken by somebody else."""

from collections.abc import Iterator

from pipelines.doctor.findings import Asked, Finding, fault, ok
from pipelines.ports import holder, is_free

# How the command of each server of ours is recognised.
_OURS = {"REST": ("-m api ",), "MCP": ("-m mcp_server",), "Dagster": ("bin/dagster", "-m dagster")}
OPTIONS = {"REST": "--port", "MCP": "--mcp-port", "Dagster": "--dagster-port"}


def ports(asked: Asked) -> Iterator[Finding]:
    """See whether each server of ours can listen, or does."""
    for name, port in asked.ports.items():
        if is_free(asked.host, port):
            yield ok("ports", f"{port} is free ({name})")
            continue
        found = holder(port)
        if found is not None and any(each in found.command for each in _OURS[name]):
            yield ok("ports", f"our server answers at {port} ({name}): process {found.pid}")
            continue
        by = "" if found is None else f", by {found}"
        yield fault(
            "ports",
            f"port {port} is in use ({name}){by}",
            f"stop what listens there, or start with `{OPTIONS[name]}` of another number",
        )
