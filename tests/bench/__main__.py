"""Run every benchmark and print its ratios."""

import platform
import sys
from importlib.metadata import version

from tests.bench import (
    agent,
    append,
    entities,
    exports,
    filings,
    isin,
    mart,
    mcp,
    metrics,
    night,
    nights,
    scale,
    serve,
    shape,
    signals,
    snapshot,
    tenders,
)

BENCHMARKS = {
    "agent": (agent.report, "questions of agents: calls and tokens, beside an earlier version"),
    "append": (append.report, "the append: 1,000,000 facts held, 200,000 come in, 10 % changed"),
    "scale": (scale.report, "the append of 1,000 rows, on 100,000 held and on 10,000,000"),
    "snapshot": (snapshot.report, "as_of: what was known on a day, of 5,000,000 sightings"),
    "tenders": (tenders.report, "200,000 OCDS releases from JSON Lines"),
    "entities": (entities.report, "who 1,000,000 tender parties are, of 100,000 organisations"),
    "exports": (exports.report, "the Parquet files of 1,000,000 facts and releases, 500,000 macro"),
    "filings": (filings.report, "the company facts of 2,000 issuers from a bulk zip"),
    "isin": (isin.report, "1, 3 and 9 million pairs of LEI and ISIN, to the record"),
    "mart": (mart.report, "a build of 1,000,000 facts and releases, 500,000 macro vintages"),
    "mcp": (mcp.report, "calls of tools beside a server whose one tool is a constant"),
    "night": (night.report, "what a publication costs by how much is new, as a command"),
    "nights": (nights.report, "300 publications in a row: time, files, memory, opening"),
    "serve": (serve.report, "serving 1,000,000 facts and releases, beside peers, on one core"),
    "shape": (shape.report, "planning and appending on 100,000,000 figures, by their shape"),
    "signals": (signals.report, "every panel of 100,000 and of 400,000 OCDS releases"),
    "metrics": (metrics.report, "every metric of 1,000,000 facts, 100,000 of them restated"),
}


def main() -> None:
    """Run the benchmarks named on the command line, or all of them."""
    names = sys.argv[1:] or list(BENCHMARKS)
    parts = ("duckdb", "deltalake", "pyarrow", "pandas")
    print(
        f"{platform.machine()}, Python {platform.python_version()}, "
        + ", ".join(f"{part} {version(part)}" for part in parts)
    )
    for name in names:
        report, title = BENCHMARKS[name]
        print(f"\n{title}")
        report()


if __name__ == "__main__":
    main()
