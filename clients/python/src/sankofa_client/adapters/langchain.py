"""Tools for an agent of LangChain or LangGraph that cannot look ahead.

The day is no argument of a tool: whoever runs the agent sets it, and the model can neither forget
nor choose it. Every answer says as of which day it is.
"""

from typing import Any

import pandas as pd
from langchain_core.tools import BaseTool, StructuredTool

from sankofa_client.adapters.known_then import KnownThen, Verb

# A model reads a table, and pays for each row.
_MOST_ROWS = 40
_FIGURE = ["period_start", "period_end", "value_reported", "currency_reported", "available_at"]


def tools(known: KnownThen) -> list[BaseTool]:
    """Return tools that answer as of the day of ``known``."""

    def reported_figures(
        identifier: str, line_items: list[str], period_type: str | None = None
    ) -> str:
        """Reported figures of a company, newest period first, each with its day of publication.

        identifier: service_id, LEI or EXCHANGE:TICKER. line_items: such as revenue, profit, cfo,
        total_assets. period_type: FY, H1, Q1 …
        """
        columns = ["line_item", *_FIGURE]
        return answer("facts", columns, identifier, line_items=line_items, period_type=period_type)

    def financial_ratios(identifier: str) -> str:
        """Ratios of a company for its latest full year: margins, returns, growth, leverage."""
        columns = ["metric", "value", "period_end", "available_at"]
        return answer("metrics", columns, identifier)

    def filings(identifier: str) -> str:
        """Filings of a company, the newest first, with form, day and link."""
        columns = ["form", "title", "received_on", "available_at", "document_url"]
        return answer("filings", columns, identifier)

    def macro_series(country: str, series: str | None = None) -> str:
        """Macroeconomic series of a country, or one of them by its name, newest period first."""
        columns = ["series", "period_end", "value", "unit", "available_at"]
        return answer("series", columns, series, country=country)

    def answer(verb: Verb, columns: list[str], *arguments: Any, **filters: Any) -> str:
        frame = known.ask(verb, *arguments, limit=_MOST_ROWS, **filters)
        return f"Known on {known.as_of}:\n{_text(frame, columns)}"

    offered = (reported_figures, financial_ratios, filings, macro_series)
    return [StructuredTool.from_function(function, parse_docstring=False) for function in offered]


def _text(frame: pd.DataFrame, columns: list[str]) -> str:
    if frame.empty:
        return str((frame.attrs.get("empty") or {}).get("detail", "nothing was known"))
    frame = frame.reset_index()
    shown: str = frame[[name for name in columns if name in frame]].to_csv(index=False)
    return shown
