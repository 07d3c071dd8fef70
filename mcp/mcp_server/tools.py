"""The tools: typed functions over the reads, each described for a model."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Annotated

from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

from mcp_server.results import Refused, answer, answering
from warehouse.read.entities import entity
from warehouse.read.fundamentals import facts_known
from warehouse.read.macro import annual, series_known
from warehouse.read.mart import Mart
from warehouse.record.as_of import Vintages
from warehouse.tables.fundamentals import PeriodType
from warehouse.tables.macro import Frequency

ServiceId = Annotated[
    str, Field(pattern="^[A-Za-z0-9]+$", max_length=64, description="Organisation id, DC….")
]
AsOf = Annotated[
    date | None,
    Field(description="Answer with what was knowable on this day, YYYY-MM-DD. None: today."),
]
Limit = Annotated[int, Field(ge=1, le=1000, description="At most this many rows.")]
Country = Annotated[
    str | None, Field(pattern="^[A-Za-z]{2,3}$", description="ISO 3166-1 alpha-2 or alpha-3.")
]
Code = Annotated[str | None, Field(pattern="^[A-Za-z0-9_.:/-]{1,64}$")]


class Reads:
    """The reads that are offered as tools, over one mart."""

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def get_entity(self, service_id: ServiceId) -> CallToolResult:
        """Look up one organisation by its service_id.

        Gives its legal name, jurisdiction, country, LEI where one exists, listings and the
        datasets that hold rows about it. There is no search by name here. A null member is
        not known; do not guess it. Quote source_ref when you use the record.
        """
        rows = entity(self._mart, service_id)
        if rows is None:
            raise _nobody(service_id)
        return answer(rows, None)

    def get_fundamentals(
        self,
        service_id: ServiceId,
        as_of: AsOf = None,
        period_type: PeriodType | None = None,
        vintages: Vintages = "latest",
        limit: Limit = 100,
    ) -> CallToolResult:
        """Read the figures that one issuer reported, the newest period first.

        Always pass as_of when you reason about the past: the answer then holds nothing that
        became public later. vintages: 'latest' is the newest value known by then,
        'as_reported' the value first filed, 'all' every restatement. Values are exact, in
        the reported currency and never converted or estimated; null is not known, never
        zero. truncated says that there are more rows.
        """
        day = _by_today(as_of)
        rows = facts_known(self._mart, service_id, day, period_type, vintages, limit)
        if rows is None:
            raise _nobody(service_id)
        return answer(rows, day)

    def get_macro(
        self,
        country: Country = None,
        indicator: Code = None,
        series: Code = None,
        series_type: Code = None,
        frequency: Frequency | None = None,
        as_of: AsOf = None,
        from_date: date | None = None,
        to_date: date | None = None,
        limit: Limit = 100,
    ) -> CallToolResult:
        """Read macroeconomic figures, the newest period first.

        With series (such as FX.EUR.ZAR) or as_of: observations of series in the vintage known
        on as_of, with no look-ahead. Otherwise annual indicators by country and indicator
        (such as NY.GDP.MKTP.CD), as they stand today; they have no evidenced release date and
        so no as_of. from_date and to_date bound the end of the period. A null value is not
        known; nothing is interpolated.
        """
        in_series = series is not None or as_of is not None
        if in_series and indicator is not None:
            raise _other_mode("indicator", "annual figures: leave out series and as_of")
        if not in_series and (series_type or frequency):
            raise _other_mode("series_type or frequency", "series: give series or as_of")
        if not in_series:
            return answer(annual(self._mart, country, indicator, from_date, to_date, limit), None)
        day = _by_today(as_of)
        span = (day, from_date, to_date, limit)
        return answer(series_known(self._mart, country, series, series_type, frequency, *span), day)


def tools_over(mart: Mart) -> list[Tool]:
    """Give every tool, reading from ``mart``."""
    reads = Reads(mart)
    return [_tool(each) for each in (reads.get_entity, reads.get_fundamentals, reads.get_macro)]


def _tool(function: Callable[..., CallToolResult]) -> Tool:
    """Register a read-only tool that refuses arguments it does not know."""
    tool = Tool.from_function(
        answering(function),
        annotations=ToolAnnotations(
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
        structured_output=False,
    )
    # A misspelt `asof` must not be passed over: the answer would be today's.
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters = arguments.model_json_schema(by_alias=True)
    return tool


def _by_today(as_of: date | None) -> date | None:
    return None if as_of is None else min(as_of, datetime.now(UTC).date())


def _nobody(service_id: str) -> Refused:
    return Refused("not_found", f"No record has the id {service_id!r}.", parameter="service_id")


def _other_mode(name: str, mode: str) -> Refused:
    return Refused("parameter_conflict", f"{name} belongs to {mode}.", parameter=name)
