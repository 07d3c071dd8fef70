"""Serving beside its peers: the same rows, one core, key check and limits on."""

from tests.bench.serve.report import report

__all__ = ["report"]
