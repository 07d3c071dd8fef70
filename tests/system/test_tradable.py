"""From which session on what became public can be traded: that of the issuer's first listing."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from assets.derive import sessions
from tests.helpers.facts import fact
from tests.helpers.publishing import publish
from tests.helpers.reads import facts_known, found
from tests.helpers.record_rows import filing_row, load, sighting
from warehouse.contract import lists
from warehouse.record.store import Record
from warehouse.record.tables import FILINGS, FUNDAMENTALS, IDENTIFIERS
from warehouse.serve.build import Mart

FRIDAY = date(2019, 4, 12)
# Issuer, its listings, day, moment of acceptance, and the first session after it.
CASES = (
    ("DCNEWYORK", ("XNYS:A",), FRIDAY, "2019-04-12T16:31:22-04:00", "2019-04-15"),
    ("DCMORNING", ("XNYS:B",), FRIDAY, "2019-04-12T07:01:00-04:00", "2019-04-12"),
    ("DCOPENING", ("XNYS:C",), FRIDAY, "2019-04-12T09:31:00-04:00", "2019-04-15"),
    # A data set states minutes: it may have been half a minute after the bell.
    ("DCMINUTE", ("XNYS:J",), FRIDAY, "2019-04-12T09:30:00-04:00", "2019-04-15"),
    ("DCINTIME", ("XNYS:K",), FRIDAY, "2019-04-12T09:29:00-04:00", "2019-04-12"),
    ("DCDAYALONE", ("XNYS:D",), FRIDAY, None, "2019-04-15"),
    ("DCEASTER", ("XNYS:E",), date(2019, 4, 18), None, "2019-04-22"),
    ("DCAFRICA", ("XJSE:F",), date(2019, 4, 18), "2019-04-18T16:31:00-04:00", "2019-04-23"),
    ("DCUNKNOWN", ("XNAI:G",), FRIDAY, None, None),
    ("DCUNLISTED", (), FRIDAY, None, None),
    ("DCEARLY", ("XNYS:H",), date(2005, 4, 12), None, None),
    # Listed in Johannesburg since 2001, in New York since 2010.
    ("DCTWO", ("XJSE:I 2001-01-01", "XNYS:I 2010-01-01"), date(2019, 4, 21), None, "2019-04-23"),
)


@pytest.fixture(scope="module")
def mart(tmp_path_factory: pytest.TempPathFactory) -> Mart:
    folder: Path = tmp_path_factory.mktemp("tradable")
    record = Record(str(folder / "record"))
    figures: list[dict[str, Any]] = []
    for issuer, listings, day, moment, _ in CASES:
        shared: dict[str, Any] = {"service_id": issuer, "publication": issuer}
        shared |= {"available_at": day, "document_id": f"number-{issuer}"}
        figures.append(fact(**shared))
        load(record, FILINGS, filing_row(**shared, accepted_at=moment, received_on=day))
        for listing in listings:
            ticker, _, since = listing.partition(" ")
            dated: dict[str, Any] = {"valid_from": date.fromisoformat(since)} if since else {}
            row = {"service_id": issuer, "id_type": "ticker", "id_value": ticker, **dated}
            row |= {"issuer": ticker[:4], "status": None}
            load(record, IDENTIFIERS, sighting(**row))
    load(record, FUNDAMENTALS, *figures)
    publish(record, folder / "marts", derivations=(sessions.derivation(),))
    return Mart(folder / "marts")


@pytest.mark.parametrize(("issuer", "_", "__", "moment", "session"), CASES, ids=lambda value: "")
def test_figures_and_filings_name_the_first_session_that_opens_after_they_were_public(
    mart: Mart, issuer: str, _: object, __: object, moment: str | None, session: str | None
) -> None:
    listed = found(lists.FILINGS, mart, service_id=issuer)
    pages = facts_known(mart, issuer), listed
    for page in pages:
        assert page is not None
        (row,) = map(json.loads, page.rows)
        assert (row["tradable_from"], row["accepted_at"]) == (session, moment)
