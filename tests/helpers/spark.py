"""A Spark for tests: pyspark and Java, or the test is left out and says so."""

import os

import pytest

from tests.helpers.paths import ROOT
from warehouse.compute.spark import Spark, missing_for_spark

# For a few rows: no second compiler, and not 200 parts of every join.
_QUICK = (
    "--driver-java-options -XX:TieredStopAtLevel=1 --conf spark.sql.shuffle.partitions=2 "
    "--conf spark.sql.adaptive.enabled=false pyspark-shell"
)


def start_spark(master: str = "local[2]") -> Spark:
    """Return a Spark whose executors can import the helpers of tests."""
    if missing := missing_for_spark():
        pytest.skip(f"left out: Spark needs {missing}")
    # Spark starts its processes with what is in the environment then.
    os.environ.setdefault("PYTHONPATH", str(ROOT))
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", _QUICK)
    return Spark(master)
