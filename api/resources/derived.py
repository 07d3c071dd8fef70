"""Derived data: metrics and the screen, signal panels, quality measurements."""

import falcon

from api.endpoints import declarations
from api.endpoints.request import pinned_mart, read_parameters, tier_of
from api.endpoints.response import send_rows
from warehouse.contract.problems import check_date_order, unknown_name
from warehouse.contract.tier_cap import row_limit
from warehouse.read.build_info import quality_metrics, quality_skus
from warehouse.read.mart import Mart
from warehouse.read.metrics import metrics, screen
from warehouse.read.signals import panel, procurement_demand, signal_keys


class MetricsResource:
    """Every metric of one issuer; an unknown id has none."""

    endpoint = declarations.METRICS

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response, service_id: str) -> None:
        """Send the metrics of the latest full year."""
        parameters = read_parameters(req, self.endpoint, service_id=service_id)
        mart = pinned_mart(req, self._mart)
        limit = row_limit(tier_of(req), parameters["limit"])
        rows = metrics(mart, **{**parameters, "limit": limit})
        send_rows(req, resp, rows, limit, parameters["as_of"])

    on_head = on_get


class ScreenResource:
    """Issuers sorted by the size of a metric, and how many of them were ranked."""

    endpoint = declarations.SCREEN

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send ranked rows and the universe they come from."""
        parameters = read_parameters(req, self.endpoint)
        mart = pinned_mart(req, self._mart)
        limit = row_limit(tier_of(req), parameters["limit"])
        ranking = screen(mart, **{**parameters, "limit": limit})
        send_rows(req, resp, ranking.rows, limit, parameters["as_of"], universe=ranking.universe)

    on_head = on_get


class ProcurementDemandResource:
    """Category share, buyer concentration and momentum of a country."""

    endpoint = declarations.PROCUREMENT_DEMAND

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the months closed by ``as_of``, as ``observations``."""
        parameters = read_parameters(req, self.endpoint)
        # ``from`` is a keyword of Python.
        from_ = parameters.pop("from")
        check_date_order(from_, parameters["to"])
        mart = pinned_mart(req, self._mart)
        limit = row_limit(tier_of(req), parameters["limit"])
        rows = procurement_demand(mart, **{**parameters, "from_": from_, "limit": limit})
        send_rows(req, resp, rows, limit, parameters["as_of"], "observations")

    on_head = on_get


class SignalResource:
    """One published signal panel."""

    endpoint = declarations.SIGNAL

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response, signal_key: str) -> None:
        """Send the newest months first as ``observations``, or 404."""
        parameters = read_parameters(req, self.endpoint, signal_key=signal_key)
        mart = pinned_mart(req, self._mart)
        limit = row_limit(tier_of(req), parameters["limit"])
        rows = panel(mart, signal_key, limit=limit)
        if rows is None:
            raise unknown_name(signal_key, "signal panel", signal_keys(mart))
        send_rows(req, resp, rows, limit, None, "observations")

    on_head = on_get


class QualityResource:
    """Every quality measurement of a dataset; the SKU in any case."""

    endpoint = declarations.QUALITY

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response, sku: str) -> None:
        """Send measurements, or 404."""
        read_parameters(req, self.endpoint, sku=sku)
        mart = pinned_mart(req, self._mart)
        rows = quality_metrics(mart, sku)
        if rows is None:
            raise unknown_name(sku, "dataset", quality_skus(mart))
        send_rows(req, resp, rows, None, None)

    on_head = on_get
