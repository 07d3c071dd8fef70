"""The client: one method for each kind of question, each returning a DataFrame."""

import os
import warnings
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, overload
from urllib.parse import quote

import pandas as pd

from sankofa_client.bulk import LATEST, BulkFiles, default_folder
from sankofa_client.company import Company
from sankofa_client.connection import Connection
from sankofa_client.description import Description
from sankofa_client.frames import Day, Shape, narrowed, open_file, open_pandas, to_frame
from sankofa_client.identifiers import Identifiers, IdType
from sankofa_client.known_services import KnownService, default_path
from sankofa_client.pages import Answer, Pages
from sankofa_client.posted import Table, frame_of, objects_of, posted
from sankofa_client.receipts import Receipt, checked
from sankofa_client.tables import flat_suppliers, flat_tenders
from sankofa_client.version import __version__

if TYPE_CHECKING:
    import duckdb
    import polars
    import pyarrow

MetricSet = Literal["metrics-v1", "metrics-ttm"]
Vintages = Literal["latest", "as_reported", "all"]
OpenAs = Literal["pandas", "polars", "duckdb", "arrow", "path"]

# The most organisations that one request takes.
_MOST_IDS = 100


class Sankofa:
    """A connection to a Sankofa service; use it as a context manager, or call ``close``.

    Every method that returns rows reads all pages, from one ``data_version``, and returns a
    DataFrame. Its ``attrs`` say what the rows are: ``as_of``, ``data_version``, ``license``,
    ``truncated`` (True if ``limit`` left rows out) and ``empty`` (why there are none, else None).

    Numbers are floats. ``decimals=True``, here or in a call, makes them ``Decimal`` with every
    digit of the API. Dates are ``datetime64``. Frames are narrow: the columns that say where a row
    comes from are in ``attrs["provenance"]``; ``narrow=False``, here or in a call, leaves them in
    the frame. Every method that returns rows takes ``limit``, ``decimals`` and ``narrow``.
    """

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        data_version: str | None = None,
        decimals: bool = False,
        narrow: bool = True,
        signing_key: str | bytes | None = None,
        known_services: str | os.PathLike[str] | None = None,
        timeout: float = 30.0,
        retries: int = 5,
        longest_wait: float = 120.0,
    ) -> None:
        """Connect to a service; no request is sent yet.

        - ``base_url``: address of the service, by default that of ``SANKOFA_URL``.
        - ``key``: API key, by default that of ``SANKOFA_API_KEY``. Without one, requests that need
          a key are sent with the public sandbox key that the service offers.
        - ``data_version``: answer everything from this version of the data. By default each
          answer comes from the newest one.
        - ``decimals``: return numbers as ``Decimal``, unless a call says otherwise.
        - ``narrow``: leave columns of provenance out of frames, unless a call says otherwise.
        - ``signing_key``: public key, in PEM, that manifests of bulk files must be signed with. By
          default the one that the service had at first use.
        - ``known_services``: file in which these keys are remembered, with the latest version of
          each service; by default ``sankofa/known_services.json`` in the user's folder of settings.
        - ``timeout``: seconds to wait for a connection, and for each part of an answer.
        - ``retries``: how often a request is repeated that got no answer, 429 or 503.
        - ``longest_wait``: seconds that one request may wait between its attempts, all together.
          If the service asks for more, the error is raised at once.
        """
        address = base_url or os.environ.get("SANKOFA_URL")
        if not address:
            raise ValueError("Where is the service? Pass base_url, or set SANKOFA_URL.")
        self.base_url, self.data_version = address.rstrip("/"), data_version
        self._decimals, self._narrow = decimals, narrow
        self._connection = Connection(
            self.base_url,
            # Set and empty is as good as not set.
            key or os.environ.get("SANKOFA_API_KEY") or None,
            timeout,
            retries,
            longest_wait,
            f"sankofa-client/{__version__}",
        )
        self._pages = Pages(self._connection, data_version)
        self._description = Description(self._connection)
        self._identifiers = Identifiers(self._pages)
        known = default_path() if known_services is None else Path(known_services)
        self._bulk = BulkFiles(self._connection, signing_key, KnownService(known, self.base_url))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        pinned = "" if self.data_version is None else f", data_version={self.data_version!r}"
        return f"Sankofa({self.base_url!r}{pinned})"

    def close(self) -> None:
        """Close the connections to the service."""
        self._connection.close()

    def resolve(self, identifier: str, id_type: IdType | None = None) -> str:
        """Return the ``service_id`` of the organisation that an identifier belongs to.

        ``MARKET:TICKER``, LEI, ISIN, FIGI and the ``service_id`` itself are told apart by their
        form; name the ``id_type`` of others, such as ``"registry"``. Each is looked up once, as it
        is mapped today: a ticker that was handed on belongs to its present owner. Lookups other
        than by ticker and LEI need a paid key.
        """
        return self._identifiers.resolve(identifier, id_type)

    def company(self, identifier: str) -> Company:
        """Return an organisation with its statements, vintages, metrics and filings as methods."""
        service_id = self.resolve(identifier)
        record = self._pages.read(f"/v1/entities/{service_id}", {}).rows[0]
        return Company(self, identifier, record)

    def facts(
        self,
        identifiers: str | Iterable[str],
        *,
        as_of: Day | None = None,
        fiscal_year: int | None = None,
        line_items: str | Iterable[str] | None = None,
        period_type: str | None = None,
        statement: str | None = None,
        vintages: Vintages | None = None,
        publication: Literal["newest"] | None = None,
        derived: bool | None = None,
        adjust: Literal["splits"] | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return reported figures of one organisation or of several, newest period first.

        ``as_of`` requests the figures as known on that day: nothing that became public later has an
        influence. ``vintages`` are ``"latest"`` by then, ``"as_reported"`` at first, or ``"all"``.
        With ``publication="newest"`` all lines of a statement are of the newest publication that
        has it, so that they add up. With ``derived=True`` rows are single quarters, half-years and
        trailing twelve months that follow exactly from reported figures. With ``adjust="splits"``
        ``adjusted_value`` has amounts per share and numbers of shares in the shares of the day.
        ``fiscal_year`` leaves only its periods, and balances at their ends.
        Identifiers are as in ``resolve``: the column ``identifier`` has the one that was passed;
        ``attrs["unknown_ids"]`` lists those of several that no organisation has.
        """
        filters = _filters(
            as_of=as_of,
            fiscal_year=fiscal_year,
            line_items=_listed(line_items),
            period_type=period_type,
            statement=statement,
            vintages=vintages,
            publication=publication,
            derived="true" if derived else None,
            adjust=adjust,
        )
        kind = ("derivation",) if derived else ("adjusted_value" if adjust else "value_reported",)
        if isinstance(identifiers, str):
            path = f"/v1/fundamentals/{self.resolve(identifiers)}"
            return self._frame(path, filters, shape, kind, identifiers)
        passed = {self.resolve(identifier): identifier for identifier in identifiers}
        if not passed:
            raise ValueError("facts() needs at least one identifier")
        answer = self._facts_of(list(passed), filters, shape.get("limit"), self._exact(shape))
        return self._as_frame("/v1/fundamentals", answer, shape, kind, passed)

    def elements(
        self,
        identifier: str,
        element: str | None = None,
        *,
        as_of: Day | None = None,
        fiscal_year: int | None = None,
        vintages: Vintages | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return what one organisation states of an element such as ``"us-gaap:Goodwill"``.

        Without ``element``, all that it states of a ``fiscal_year``; without both, the elements
        that it has stated, each with its span. ``as_of`` and ``vintages`` as in ``facts``.
        """
        filters = _filters(element=element, as_of=as_of, fiscal_year=fiscal_year, vintages=vintages)
        is_list = element is None and fiscal_year is None
        kind = ("figures",) if is_list else ("fact_id",)
        path = f"/v1/elements/{self.resolve(identifier)}"
        return self._frame(path, filters, shape, kind, identifier)

    def filings(
        self,
        identifier: str,
        *,
        form: str | None = None,
        from_: Day | None = None,
        to: Day | None = None,
        as_of: Day | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return the filings of one organisation, the one received last first.

        Every version of a document is a row. ``from_`` and ``to`` bound the day of receipt;
        ``available_at`` is the first day on which it could be read.
        """
        filters = _filters(
            service_id=self.resolve(identifier), form=form, to=to, as_of=as_of, **{"from": from_}
        )
        return self._frame("/v1/filings", filters, shape, passed=identifier)

    def universe(
        self,
        as_of: Day | None = None,
        *,
        exchange: str | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return every listing that lists had shown by a day, in its state on that day.

        Those of ``state`` ``"listed"`` are what could be traded, also of issuers that have gone
        since. ``attrs["known_since"]`` is the day of the first list.
        """
        filters = _filters(as_of=as_of, exchange=exchange)
        return self._frame("/v1/universe", filters, shape)

    def metrics(
        self,
        identifier: str,
        *,
        metric: str | None = None,
        metric_set: MetricSet | None = None,
        fiscal_year: int | None = None,
        as_of: Day | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return the metrics of one organisation that were exactly computable on ``as_of``.

        ``metric_set="metrics-ttm"`` are those of flows over the latest twelve months;
        ``fiscal_year`` asks for another year than the latest.
        """
        filters = _filters(
            metric=metric, metric_set=metric_set, fiscal_year=fiscal_year, as_of=as_of
        )
        path = f"/v1/metrics/{self.resolve(identifier)}"
        return self._frame(path, filters, shape, passed=identifier)

    def screen(
        self,
        metric: str,
        *,
        metric_set: MetricSet | None = None,
        as_of: Day | None = None,
        country: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return issuers ranked by a metric, as it was exactly computable on ``as_of``.

        ``attrs["universe"]`` counts the issuers that are covered, ranked, and left out for each
        reason.
        """
        filters = _filters(
            metric=metric, metric_set=metric_set, as_of=as_of, country=country, order=order
        )
        return self._frame("/v1/screen", filters, shape)

    def series(
        self,
        series: str | None = None,
        *,
        country: str | None = None,
        series_type: str | None = None,
        frequency: str | None = None,
        as_of: Day | None = None,
        from_: Day | None = None,
        to: Day | None = None,
        vintages: Literal["latest", "all"] = "latest",
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return observations of macroeconomic series, as they were known on ``as_of``.

        The index is the end of the period, ascending: ``series(…)["value"].plot()``. Name a series
        such as ``"FX.EUR.ZAR"``, or give ``as_of`` for all series of a country or a type; today as
        ``as_of`` is what is known now. ``limit`` leaves the newest periods.

        With ``vintages="all"`` the index is the end of the period and the vintage: every value that
        was known by ``as_of``, from the bulk file, which needs a key of the starter tier.

        One series may have several frequencies, such as daily rates and their monthly means.
        The column ``frequency`` tells their rows apart, and a warning names them unless you choose
        one with ``frequency``.
        """
        if series is None and as_of is None:
            raise ValueError(
                "series() needs a series or as_of; see indicators() for annual figures"
            )
        filters = _filters(
            series=series,
            country=country,
            series_type=series_type,
            frequency=frequency,
            as_of=as_of,
            from_=from_,
            to=to,
        )
        index = ["period_end"] if vintages == "latest" else ["period_end", "vintage"]
        if vintages == "latest":
            frame = self._frame("/v1/macro", filters, shape, ["series"])
        else:
            frame = self._vintages_of_series(filters, shape)
        frame = frame.sort_values(["series", "frequency", *index]).set_index(index)
        frequencies = sorted(frame["frequency"].unique())
        if series is not None and len(frequencies) > 1:
            warnings.warn(
                f"{series} has rows of several frequencies: {', '.join(frequencies)}. Pass "
                "frequency= for one of them, or tell them apart by the column frequency.",
                stacklevel=2,
            )
        return frame

    def indicators(
        self,
        country: str | None = None,
        indicator: str | None = None,
        *,
        from_: Day | int | None = None,
        to: Day | int | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return annual indicators as they are today, from one year or day to another.

        It is not known when their values were published: there is no ``as_of``, and a backtest must
        not use them.
        """
        filters = _filters(country=country, indicator=indicator, from_=from_, to=to)
        return self._frame("/v1/macro", filters, shape, ["indicator"])

    def tenders(
        self,
        country: str,
        *,
        from_: Day | None = None,
        to: Day | None = None,
        category: str | None = None,
        buyer: str | None = None,
        supplier: str | None = None,
        status: str | None = None,
        query: str | None = None,
        publication: Literal["newest"] | None = None,
        order: Literal["value"] | None = None,
        as_of: Day | None = None,
        flat: bool = False,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return tender releases of a country, newest first, or the largest first.

        ``buyer``, ``tender``, ``awards`` and ``contracts`` are objects of the Open Contracting Data
        Standard. With ``flat=True`` there are columns of plain values instead: buyer, title,
        status, value and currency, days, suppliers, and the sum of the awards.
        ``publication="newest"`` has each process once, as its newest release on ``as_of`` has it.
        """
        filters = _filters(
            country=country,
            category=category,
            buyer=buyer,
            supplier=supplier,
            status=status,
            query=query,
            publication=publication,
            order=order,
            as_of=as_of,
            from_=from_,
            to=to,
        )
        frame = self._frame("/v1/tenders", filters, shape)
        return flat_tenders(frame, self._exact(shape)) if flat else frame

    def suppliers(
        self,
        country: str,
        *,
        buyer: str | None = None,
        from_: Day | None = None,
        to: Day | None = None,
        order: Literal["value"] | None = "value",
        as_of: Day | None = None,
        flat: bool = False,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return the suppliers of a country with what each won, the largest first.

        ``from_`` and ``to`` bound the day of award. ``totals`` has a sum for each currency; with
        ``flat=True`` each is a row, with ``currency`` and ``value``. ``buyer`` is an id or words of
        a name: then only what that buyer bought counts. ``attrs["parties_withheld"]`` is how many
        suppliers are in no row, because they may not be named.
        """
        filters = _filters(
            country=country, buyer=buyer, order=order, as_of=as_of, from_=from_, to=to
        )
        frame = self._frame("/v1/awards", filters, shape, ["totals"])
        return flat_suppliers(frame, self._exact(shape)) if flat else frame

    def awards(
        self,
        identifier: str,
        *,
        buyer: str | None = None,
        from_: Day | None = None,
        to: Day | None = None,
        order: Literal["value"] | None = None,
        as_of: Day | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return the public contracts with a stated value that a supplier won, newest first."""
        service_id = self.resolve(identifier)
        filters = _filters(
            service_id=service_id, buyer=buyer, order=order, as_of=as_of, from_=from_, to=to
        )
        return self._frame("/v1/awards", filters, shape, ["ocid"])

    def signal(
        self,
        signal_key: str,
        *,
        country: str | None = None,
        category: str | None = None,
        dimension: str | None = None,
        dimension_value: str | None = None,
        measure: str | None = None,
        as_of: Day | None = None,
        from_: Day | None = None,
        to: Day | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return a signal panel such as ``"single-bid-rate"``, newest month first.

        With ``as_of`` only months that were closed by that day, as they were known then.
        ``"procurement-demand"`` also takes ``category``, and is of South Africa unless ``country``
        says otherwise.
        """
        filters = _filters(
            country=country,
            category=category,
            dimension=dimension,
            dimension_value=dimension_value,
            measure=measure,
            as_of=as_of,
            from_=from_,
            to=to,
        )
        return self._frame(f"/v1/signals/{quote(signal_key, safe='')}", filters, shape)

    def search(
        self,
        query: str,
        *,
        kind: str | None = None,
        country: str | None = None,
        limit: int | None = 25,
    ) -> pd.DataFrame:
        """Return organisations, series, indicators, panels and buyers, the best match first.

        ``id`` is what other methods take. ``match`` says how well a row matches; of one that is
        ``"near"`` the name is only spelled alike.
        """
        filters = _filters(query=query, kind=kind, country=country)
        return self._frame("/v1/search", filters, {"limit": limit})

    def catalogue(
        self,
        section: str | None = None,
        *,
        dataset: str | None = None,
        country: str | None = None,
    ) -> pd.DataFrame:
        """Return what there is: series, line items, metrics, panels, countries and more.

        ``name`` is what other methods take; ``section`` says of what kind a row is.
        """
        filters = _filters(section=section, dataset=dataset, country=country)
        return self._frame("/v1/catalogue", filters, {})

    def line_items(self) -> list[str]:
        """Return the lines of statements in the order in which statements have them."""
        return self._description.words("/v1/fundamentals", "line_items")

    def changes(
        self,
        since: Day,
        *,
        level: Literal["fact"] | None = None,
        dataset: str | None = None,
        id_: str | None = None,
        country: str | None = None,
        **shape: Unpack[Shape],
    ) -> pd.DataFrame:
        """Return what arrived since a day, or what differs from the ``data_version`` that you have.

        A row an issuer, series, indicator or country; with ``level="fact"`` a row a figure, with
        ``value`` and ``value_before``.
        """
        filters = _filters(since=since, level=level, dataset=dataset, id=id_, country=country)
        kind = ("changed_on",) if level is None else ("change",)
        return self._frame("/v1/changes", filters, shape, kind)

    def match(self, table: Table) -> pd.DataFrame:
        """Return a table with the organisation of each of its rows, by evidence.

        ``table`` has the columns ``name`` and ``country``, ``id_value`` and perhaps ``id_type``,
        or all of them, as a DataFrame or as dicts; other columns and the index are kept.
        ``service_id`` is filled where there is ``evidence``, otherwise see ``candidates``.
        """
        rows = frame_of(table)
        sent = [name for name in ("name", "country", "id_value", "id_type") if name in rows]
        answers = self._posted("/v1/match", "rows", objects_of(rows[sent]))
        for name in ("service_id", "legal_name", "evidence", "detail", "candidates"):
            rows[name] = answers[name].to_numpy()
        rows.attrs.update(answers.attrs)
        return rows

    def claims(self, claims: Table) -> pd.DataFrame:
        """Return for each claimed figure whether it was public on the day of the claim.

        A claim has ``value`` and ``period``, and ``service_id`` with ``line_item``, a ``series``,
        or an ``indicator`` with a ``country``; perhaps ``currency`` and ``as_of``. ``verdict`` says
        how it ends, ``detail`` why, and ``known_then`` what was known on the day.
        """
        rows = frame_of(claims)
        answers = self._posted("/v1/claims", "claims", objects_of(rows))
        for name in answers.columns.drop("claimed"):
            rows[name] = answers[name].to_numpy()
        rows.attrs.update(answers.attrs)
        return rows

    def rows(
        self,
        path: str,
        *,
        limit: int | None = None,
        decimals: bool | None = None,
        narrow: bool | None = None,
        **parameters: Any,
    ) -> pd.DataFrame:
        """Return any list of the API by its path, such as ``rows("/v1/tender-parties")``.

        Write a parameter that is a word of Python with an underscore: ``from_``.
        """
        shape: Shape = {"limit": limit, "decimals": decimals, "narrow": narrow}
        filters = _filters(**parameters)
        frame = self._frame(path, filters, shape)
        if "fields" not in filters:
            return frame
        # A column that was not requested would look as if its values were unknown.
        return frame[[name for name in filters["fields"].split(",") if name in frame]]

    def bulk_files(self, data_version: str | None = None) -> pd.DataFrame:
        """Return the bulk files of a version: keys, titles, licences, rows, sizes, columns.

        The version is that of the client, otherwise the latest.
        """
        manifest = self._bulk.manifest(data_version or self.data_version or LATEST)
        frame = pd.DataFrame(manifest.artifacts)
        frame.attrs["data_version"] = manifest.data_version
        return frame

    @overload
    def bulk(
        self,
        name: str,
        data_version: str | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        as_: Literal["pandas"] = "pandas",
        decimals: bool | None = None,
        filters: list[tuple[str, str, Any]] | None = None,
    ) -> pd.DataFrame: ...

    @overload
    def bulk(
        self,
        name: str,
        data_version: str | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        as_: Literal["polars"],
    ) -> "polars.DataFrame": ...

    @overload
    def bulk(
        self,
        name: str,
        data_version: str | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        as_: Literal["duckdb"],
    ) -> "duckdb.DuckDBPyRelation": ...

    @overload
    def bulk(
        self,
        name: str,
        data_version: str | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        as_: Literal["arrow"],
    ) -> "pyarrow.Table": ...

    @overload
    def bulk(
        self,
        name: str,
        data_version: str | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        as_: Literal["path"],
    ) -> Path: ...

    def bulk(
        self,
        name: str,
        data_version: str | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        as_: OpenAs = "pandas",
        decimals: bool | None = None,
        filters: list[tuple[str, str, Any]] | None = None,
    ) -> Any:
        """Download a bulk file, verify it, and open it.

        The signature of the manifest and the SHA-256 of the file are verified before anything is
        opened. A file that is in ``folder`` already is not downloaded again, and a broken download
        goes on where it broke.

        - ``name``: key of a file such as ``"af-fund-facts"``, its file name, or a dataset if
          it has one file; ``bulk_files()`` lists them.
        - ``data_version``: a version of the data, or ``"latest"``; by default that of the client,
          otherwise the latest.
        - ``folder``: where files are kept, by default ``sankofa`` in the user's folder of caches.
        - ``as_``: ``"pandas"``, ``"polars"``, ``"duckdb"`` (a relation), ``"arrow"`` (a table) or
          ``"path"`` (of the verified file).
        - ``decimals``: for pandas, ``Decimal`` instead of float. The others have the DECIMAL type
          of the file.
        - ``filters``: for pandas, conditions such as ``[("country", "==", "KE")]``: rows that do
          not meet all of them are not read.

        A file has every vintage. In pandas, ``attrs["sql_as_of"]`` is the SQL that selects what was
        known on a day; drop ``superseded_at`` and ``latest`` before a backtest sees the rows.
        """
        manifest = self._bulk.manifest(data_version or self.data_version or LATEST)
        file = manifest.file(name)
        target = default_folder() if folder is None else Path(folder)
        path = self._bulk.fetch(file, manifest.data_version, target)
        if as_ == "path":
            return path
        if as_ != "pandas":
            return open_file(path, as_)
        exact = self._decimals if decimals is None else decimals
        frame = open_pandas(path, exact, filters)
        about = {"as_of": None, "truncated": False, "key": file.key, "sha256": file.sha256}
        frame.attrs.update({"data_version": manifest.data_version, **about, **file.members})
        return frame

    def receipt(self, path: str, **parameters: Any) -> Receipt:
        """Return an answer as it was sent, with a signed receipt of it, which is verified.

        ``path`` is one of the API such as ``"/v1/filings"``, ``parameters`` are those that it
        takes. Both can be verified again at any time, without the service: ``verify_receipt``
        with ``signing_key`` of the receipt.
        """
        filters = {**_filters(**parameters), "receipt": "true"}
        response = self._connection.get(path, filters, self.data_version)
        sent, body = response.headers.get("X-Receipt", ""), response.content
        stated = checked(sent, body, self._bulk.check_signature)
        return Receipt(body, sent, stated, self._bulk.trusted_key.decode())

    def _exact(self, shape: Shape) -> bool:
        # A misspelt ``as_of`` must not be answered with what is known today.
        for name in shape.keys() - Shape.__annotations__.keys():
            near = get_close_matches(name, {*_ARGUMENTS, *Shape.__annotations__}, 1)
            known = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{name!r} is no argument of this method{known}")
        decimals = shape.get("decimals")
        return self._decimals if decimals is None else decimals

    def _shaped(self, frame: pd.DataFrame, shape: Shape) -> pd.DataFrame:
        narrow = shape.get("narrow")
        return narrowed(frame) if (self._narrow if narrow is None else narrow) else frame

    def _frame(
        self,
        path: str,
        filters: Mapping[str, str],
        shape: Shape,
        members: Iterable[str] = (),
        passed: str | None = None,
    ) -> pd.DataFrame:
        """Return all pages of a list; if it is empty, ``members`` tell the kind of its rows."""
        answer = self._pages.read(path, filters, shape.get("limit"), self._exact(shape))
        return self._as_frame(path, answer, shape, next(iter(answer.rows), members), passed)

    def _as_frame(
        self,
        path: str,
        answer: Answer,
        shape: Shape,
        members: Iterable[str] = (),
        passed: str | Mapping[str, str] | None = None,
    ) -> pd.DataFrame:
        """Return rows as a frame; ``passed`` are the identifiers that led to them."""
        columns = self._description.columns(path, members)
        frame = self._shaped(to_frame(answer, columns, self._exact(shape)), shape)
        if passed is not None:
            ids = frame["service_id"]
            # Rows have the id of today, also where an older one was passed.
            identifiers = passed if isinstance(passed, str) else ids.map(passed).fillna(ids)
            place = list(frame.columns).index("service_id") + 1
            frame.insert(place, "identifier", identifiers)
        return frame

    def _vintages_of_series(self, filters: Mapping[str, str], shape: Shape) -> pd.DataFrame:
        """Return every vintage of series that was known by ``as_of``, from their bulk file."""
        compared = {"from": ("period_end", ">="), "to": ("period_end", "<=")}
        compared["as_of"] = ("available_at", "<=")
        if len(filters.get("country", "")) == 3:
            compared["country"] = ("country_iso3", "==")
        conditions: list[tuple[str, str, Any]] = []
        for name, value in filters.items():
            column, comparison = compared.get(name, (name, "=="))
            is_day = column in ("period_end", "available_at")
            wanted = date.fromisoformat(value) if is_day else value
            wanted = value.upper() if name == "country" else wanted
            conditions.append((column, comparison, wanted))
        exact = self._exact(shape)
        frame = self.bulk("af-macro-series", decimals=exact, filters=conditions or None)
        # They tell the future.
        frame = frame.drop(columns=["superseded_at", "latest"])
        frame = frame.sort_values("period_end", kind="stable").tail(
            shape.get("limit") or len(frame)
        )
        frame.attrs["as_of"] = filters.get("as_of")
        return self._shaped(frame, shape)

    def _posted(self, path: str, member: str, objects: list[dict[str, Any]]) -> pd.DataFrame:
        """Return the answers to objects, one a row."""
        answer = posted(self._connection, path, member, objects, self.data_version)
        return to_frame(answer, self._description.columns(path), self._decimals)

    def _facts_of(
        self, service_ids: list[str], filters: Mapping[str, str], limit: int | None, exact: bool
    ) -> Answer:
        """Return the figures of any number of organisations, all from one version."""
        whole = Answer([], {})
        for begin in range(0, len(service_ids), _MOST_IDS):
            wanted = None if limit is None else limit - len(whole.rows)
            if wanted == 0:
                whole.envelope["truncated"] = True
                break
            answer = self._pages.read(
                "/v1/fundamentals",
                {**filters, "service_ids": ",".join(service_ids[begin : begin + _MOST_IDS])},
                wanted,
                exact,
                whole.envelope.get("data_version"),
            )
            unknown_ids = whole.envelope.get("unknown_ids", []) + answer.envelope["unknown_ids"]
            whole.rows.extend(answer.rows)
            whole.envelope.update({**answer.envelope, "unknown_ids": unknown_ids})
        if whole.rows:
            whole.envelope["empty"] = None
        return whole


def _filters(**parameters: Any) -> dict[str, str]:
    """Return the parameters that are not None, as texts; ``from_`` is ``from``."""
    given = {name.rstrip("_"): value for name, value in parameters.items() if value is not None}
    return {name: _text(value) for name, value in given.items()}


def _text(value: Any) -> str:
    """Return a parameter as the API writes it; a point in time is its day in UTC."""
    if isinstance(value, datetime):
        return (value if value.tzinfo is None else value.astimezone(UTC)).strftime("%Y-%m-%d")
    return value.isoformat() if isinstance(value, date) else str(value)


def _listed(values: str | Iterable[str] | None) -> str | None:
    return values if values is None or isinstance(values, str) else ",".join(values)


_ARGUMENTS = {
    name
    for method in vars(Sankofa).values()
    if callable(method)
    for name in signature(method).parameters
}
