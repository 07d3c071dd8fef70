"""The demonstration: the whole way from documents to answers, on the sample world."""

import json
from collections.abc import Callable

from pipelines.places import Places

Say = Callable[[str], object]


def prepare(here: Places, say: Say) -> None:
    """Build the sample world, run the pipeline through Dagster, publish."""
    from assets.sample.world import write_world
    from assets.told import COUNTS
    from pipelines.run import run_job

    say("The sample world: fictional issuers, portals, series and registers")
    write_world(here.sample)
    say("The pipeline, through Dagster")
    for asset, said in run_job(here, "ingest").items():
        counts = ", ".join(f"{said[name]:,} {name}" for name in COUNTS if said[name])
        say(f"  {asset:34} {said['documents']:>4} documents; {counts or 'nothing new'}")
    told = run_job(here, "publish")
    if parties := told.get("party_matches"):
        say(f"  {parties['resolved']:,} of {parties['parties']:,} tender parties resolved")
    say(f"Published as data_version {told['published_build']['data_version']}")


def _one_that_restated(here: Places) -> str:
    """Give the id of an issuer of the sample world that restated a figure."""
    from assets.filings.companyfacts import service_id_of

    traps = json.loads((here.sample / "traps.json").read_text())
    place = traps["restatement"][0]
    company = here.sample / place["source"] / place["day"] / place["path"]
    return service_id_of(json.loads(company.read_text())["cik"])


def greeting(here: Places, address: str) -> str:
    """Say where everything answers, with a key that works and three commands to try."""
    from warehouse import keys

    key = keys.sandbox(keys.KeyStore(here.keys))
    issuer = _one_that_restated(here)
    ask = f"curl -s -H 'X-API-Key: {key}' '{address}/v1"
    return "\n".join(
        (
            f"REST          {address}/v1/status",
            f"Runs          DAGSTER_HOME={here.dagster} .venv/bin/dagster dev",
            f"Sandbox key   {key}",
            "",
            "What was known of an issuer on 30 June 2024, and every vintage of it:",
            f"  {ask}/fundamentals/{issuer}?as_of=2024-06-30'",
            f"  {ask}/fundamentals/{issuer}?vintages=all'",
            "The rand as the European Central Bank quoted it:",
            f"  {ask}/macro?series=FX.EUR.ZAR&frequency=daily&limit=5'",
            "",
            "Stop with Ctrl-C.",
        )
    )
