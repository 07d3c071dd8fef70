"""An agent session over MCP: find a company, read a past figure, correct a rejected call.

Set SANKOFA_API_KEY first; the sandbox key is enough. SANKOFA_MCP_URL names another server.
"""

import asyncio
import os
import sys
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from mcp import Client

SERVER = os.environ.get("SANKOFA_MCP_URL", "http://127.0.0.1:8322/mcp")
API_KEY = os.environ.get("SANKOFA_API_KEY") or sys.exit(
    "set SANKOFA_API_KEY: `sankofa keys sandbox` prints one"
)
KEY = {"X-API-Key": API_KEY}


async def main() -> None:
    """Call tools one after another, as a model would."""
    async with (
        httpx2.AsyncClient(headers=KEY, timeout=30) as http,
        Client(streamable_http_client(SERVER, http_client=http)) as agent,
    ):
        tools = (await agent.list_tools()).tools
        print("tools:", ", ".join(sorted(tool.name for tool in tools)))

        entities = await call(agent, "search_entities", query="Gold Fields")
        issuer = entities["data"][0]
        print("found:", issuer["legal_name"], issuer["service_id"])

        for as_of in ("2019-12-31", "2020-12-31"):
            arguments = {"service_id": issuer["service_id"], "line_items": ["cfo"]}
            facts = await call(
                agent, "get_fundamentals", as_of=as_of, period_type="FY", **arguments
            )
            # What all rows have in common is said once.
            rows = [{**facts.get("shared", {}), **fact} for fact in facts["data"]]
            row = next(fact for fact in rows if fact["period_end"] == "2017-12-31")
            print(
                f"operating cash flow of 2017, as of {as_of}:",
                row["value_reported"],
                row["currency_reported"],
            )

        wrong = {"service_id": issuer["service_id"], "as_of": "June 2020"}
        problem = await call(agent, "get_fundamentals", **wrong)
        print("rejected:", problem["code"], "-", problem["detail"])


async def call(agent: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool and return its result: rows, or a problem that says how to correct the call."""
    result = await agent.call_tool(tool, arguments)
    return result.structured_content or {}


asyncio.run(main())
