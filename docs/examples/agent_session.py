"""What an agent does over MCP: find a company, read a past figure, then learn from a refusal.

Set SANKOFA_API_KEY first; the sandbox key is enough.
"""

import asyncio
import os
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from mcp import Client

SERVER = "http://127.0.0.1:8322/mcp"
KEY = {"X-API-Key": os.environ["SANKOFA_API_KEY"]}


async def main() -> None:
    """Ask as a model would, one call after another."""
    async with (
        httpx2.AsyncClient(headers=KEY, timeout=30) as http,
        Client(streamable_http_client(SERVER, http_client=http)) as agent,
    ):
        tools = (await agent.list_tools()).tools
        print("tools:", ", ".join(sorted(tool.name for tool in tools)))

        found = await ask(agent, "search_entities", query="Ubuntu Fictional Mining")
        issuer = found["data"][0]
        print("found:", issuer["legal_name"], issuer["service_id"])

        for as_of in ("2020-12-31", "2021-12-31"):
            asked = {"service_id": issuer["service_id"], "line_items": ["revenue"]}
            known = await ask(agent, "get_fundamentals", as_of=as_of, period_type="FY", **asked)
            row = next(each for each in known["data"] if each["period_end"] == "2020-06-30")
            print(f"revenue to June 2020, as of {as_of}:", row["value_reported"], row["unit"])

        problem = await ask(agent, "get_fundamentals", service_id="DC3V3GC5W0W7", as_of="June 2020")
        print("refused:", problem["code"], "-", problem["detail"])


async def ask(agent: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool; a problem comes back as an answer that a model can mend its call by."""
    result = await agent.call_tool(tool, arguments)
    return result.structured_content or {}


asyncio.run(main())
