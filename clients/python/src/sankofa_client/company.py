"""One organisation with everything that the service has about it."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Literal, Unpack

import pandas as pd

from sankofa_client.frames import Day, Shape, needed
from sankofa_client.tables import of_one_unit, wide_statement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sankofa_client.client import MetricSet, Sankofa, Vintages

Statement = Literal["income", "balance", "cash_flow"]


class Company:
    """An organisation; ``Sankofa.company`` returns it.

    ``facts``, ``elements``, ``metrics``, ``filings`` and ``awards`` are the methods of the client
    of the same name, for this organisation.
    """

    def __init__(self, client: "Sankofa", identifier: str, record: Mapping[str, Any]) -> None:
        self._client = client
        self.identifier, self.record = identifier, dict(record)
        self.service_id: str = record["service_id"]
        self.name: str | None = record["legal_name"]
        self.country: str | None = record["country"]

    def __repr__(self) -> str:
        return f"Company({self.identifier!r}, {self.name!r}, service_id={self.service_id!r})"

    def _repr_html_(self) -> str:
        listings = [f"{each['mic']}:{each['ticker']}" for each in self.record["listings"]]
        page = escape(f"{self._client.base_url}/organisations/{self.service_id}", quote=True)
        about = {
            "Identifier": self.identifier,
            "service_id": self.service_id,
            "Country": self.country,
            "LEI": self.record["lei"],
            "Listings": ", ".join(listings),
            "Datasets": ", ".join(self.record["datasets"]),
        }
        table = pd.Series({name: value for name, value in about.items() if value}).to_frame()
        title = escape(self.name or self.service_id)
        return f'<h4><a href="{page}">{title}</a></h4>{table.to_html(header=False)}'

    def statement(
        self,
        statement: Statement | None = None,
        *,
        as_of: Day | None = None,
        period_type: str = "FY",
        currency: str | None = None,
        basis: str | None = None,
        publication: Literal["newest"] | None = "newest",
        decimals: bool | None = None,
    ) -> pd.DataFrame:
        """Return lines by periods: a row a line, a column a period, as known on ``as_of``.

        ``statement`` is one of the three, by default all of them. All lines of a period are of
        the newest publication that has the statement, so that they add up; with
        ``publication=None`` each is the latest by itself. ``attrs`` have ``currency`` and
        ``basis``: those of the last period unless you choose, and ``other_currency`` and
        ``other_basis`` that there are.
        """
        facts = self.facts(
            as_of=as_of,
            statement=statement,
            period_type=period_type,
            publication=publication,
            decimals=decimals,
        )
        order = self._client.line_items()
        return wide_statement(of_one_unit(facts, currency, basis), order)

    def vintages(
        self,
        line_item: str,
        *,
        as_of: Day | None = None,
        period_type: str = "FY",
        currency: str | None = None,
        basis: str | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return every value that a line had, by period and vintage, the first period first."""
        facts = self.facts(
            as_of=as_of,
            line_items=line_item,
            period_type=period_type,
            vintages="all",
            **shape,
        )
        of_line = of_one_unit(facts, currency, basis)
        return of_line.set_index(["period_end", "vintage"]).sort_index()

    def plot_vintages(
        self,
        line_item: str,
        *,
        as_of: Day | None = None,
        period_type: str = "FY",
        currency: str | None = None,
        basis: str | None = None,
        ax: "Axes | None" = None,
    ) -> "Axes":
        """Draw what was known about a line over time: a step per vintage, a curve per period.

        Periods that were revised have a colour and are in the legend. Needs matplotlib.
        """
        history = self.vintages(
            line_item, as_of=as_of, period_type=period_type, currency=currency, basis=basis
        )
        if ax is None:
            ax = needed("matplotlib.pyplot").subplots()[1]
        until = pd.Timestamp(history.attrs["as_of"] or pd.Timestamp.now().normalize())
        for period_end, known in history.groupby(level="period_end"):
            days, values = known["available_at"], known["value_reported"]
            revised: dict[str, Any] = (
                {"label": f"{period_end:%Y-%m-%d}"} if len(known) > 1 else {"color": "0.8"}
            )
            ax.step([*days, until], [*values, values.iloc[-1]], where="post", marker=".", **revised)
        ax.set(
            title=f"{self.name or self.identifier}: {line_item}, by period",
            xlabel="known from",
            ylabel=history.attrs["currency"] or "",
        )
        # Whole numbers, where matplotlib would put a power of ten into a corner.
        ax.yaxis.set_major_formatter("{x:,.15g}")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(title="period end")
        return ax

    def facts(
        self,
        *,
        as_of: Day | None = None,
        line_items: str | Iterable[str] | None = None,
        period_type: str | None = None,
        statement: str | None = None,
        vintages: "Vintages | None" = None,
        publication: Literal["newest"] | None = None,
        derived: bool | None = None,
        adjust: Literal["splits"] | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return its reported figures, newest period first."""
        return self._client.facts(
            self.identifier,
            as_of=as_of,
            line_items=line_items,
            period_type=period_type,
            statement=statement,
            vintages=vintages,
            publication=publication,
            derived=derived,
            adjust=adjust,
            **shape,
        )

    def elements(
        self,
        element: str | None = None,
        *,
        as_of: Day | None = None,
        vintages: "Vintages | None" = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return what it states of an element, or which elements it has stated."""
        return self._client.elements(
            self.identifier, element, as_of=as_of, vintages=vintages, **shape
        )

    def metrics(
        self,
        *,
        metric: str | None = None,
        metric_set: "MetricSet | None" = None,
        as_of: Day | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return its metrics that were exactly computable on ``as_of``."""
        return self._client.metrics(
            self.identifier, metric=metric, metric_set=metric_set, as_of=as_of, **shape
        )

    def filings(
        self,
        *,
        form: str | None = None,
        from_: Day | None = None,
        to: Day | None = None,
        as_of: Day | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return its filings, the one received last first."""
        return self._client.filings(
            self.identifier, form=form, from_=from_, to=to, as_of=as_of, **shape
        )

    def awards(
        self,
        *,
        from_: Day | None = None,
        to: Day | None = None,
        order: Literal["value"] | None = None,
        as_of: Day | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return the public contracts with a stated value that it won, newest first."""
        return self._client.awards(
            self.identifier, from_=from_, to=to, order=order, as_of=as_of, **shape
        )
