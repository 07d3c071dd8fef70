"""Inside of other frameworks the client answers as of their day, and a later one is refused."""

import os
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from sankofa_client import Sankofa
from sankofa_client.adapters.known_then import KnownThen, LookAhead

from tests.helpers.contract_client import Contract
from tests.helpers.paths import ROOT

UV = str(Path(sys.executable).with_name("uv"))
ISSUER = "XJSE:UBF0"
# Run where the released packages are: each asks for the future and says what it got.
BACKTEST = """
import backtrader, pandas as pd
from sankofa_client import Sankofa
from sankofa_client.adapters.backtrader import known_then
from sankofa_client.adapters.known_then import LookAhead

class Reader(backtrader.Strategy):
    def __init__(self):
        self.known, self.newest, self.refused = known_then(self, Sankofa()), set(), 0

    def next(self):
        bar = self.datetime.date(0)
        figures = self.known.ask("facts", "XJSE:UBF0", line_items=["revenue"])
        assert (figures["available_at"] < pd.Timestamp(bar)).all(), bar
        self.newest.add(figures["period_end"].max())
        try:
            self.known.ask("facts", "XJSE:UBF0", as_of=bar)
        except LookAhead:
            self.refused += 1

days = pd.date_range("2018-01-31", "2021-12-31", freq="ME")
prices = pd.DataFrame({name: 1.0 for name in ("open", "high", "low", "close", "volume")}, days)
engine = backtrader.Cerebro()
engine.adddata(backtrader.feeds.PandasData(dataname=prices))
engine.addstrategy(Reader)
(strategy,) = engine.run()
assert strategy.refused == len(days), strategy.refused
assert len(strategy.newest) > 2, strategy.newest
"""
AGENT = """
import re
from datetime import date
from sankofa_client import Sankofa
from sankofa_client.adapters.known_then import KnownThen
from sankofa_client.adapters.langchain import tools

with Sankofa() as client:
    offered = {tool.name: tool for tool in tools(KnownThen(client, lambda: date(2020, 12, 31)))}
    assert not any("as_of" in tool.args for tool in offered.values())
    wanted = {"identifier": "XJSE:UBF0", "line_items": ["revenue", "cfo"]}
    said = offered["reported_figures"].invoke(wanted)
    # A model that insists on another day gets the same.
    assert offered["reported_figures"].invoke({**wanted, "as_of": "2026-01-01"}) == said
    for name in ("financial_ratios", "filings"):
        said += offered[name].invoke({"identifier": "XJSE:UBF0"})
    said += offered["macro_series"].invoke({"country": "ZA"})
    assert "revenue" in said and said.count("Known on 2020-12-31") == 4, said
    days = re.findall(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}", said)
    assert max(days) <= "2020-12-31", max(days)
"""


def test_the_day_of_the_clock_is_the_limit_of_every_question(sankofa: Sankofa) -> None:
    today = [date(2019, 12, 31)]
    known = KnownThen(sankofa, lambda: today[0])
    before = known.ask("facts", ISSUER, line_items="revenue")
    assert before.attrs["as_of"] == "2019-12-31"
    with pytest.raises(LookAhead, match="2020-01-01 is in the future of this run"):
        known.ask("facts", ISSUER, as_of="2020-01-01")
    today[0] = date(2020, 12, 31)
    after = known.ask("facts", ISSUER, line_items="revenue")
    assert after["available_at"].max() > before["available_at"].max()
    earlier = known.ask("facts", ISSUER, as_of=date(2019, 12, 31), line_items="revenue")
    assert earlier.equals(before)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("package", "script"), [("backtrader", BACKTEST), ("langchain-core", AGENT)]
)
def test_a_released_framework_asks_for_the_future_and_gets_none(
    package: str, script: str, service: Contract, tmp_path: Path
) -> None:
    folder = tmp_path / "client"
    shutil.copytree(ROOT / "clients" / "python", folder)
    subprocess.run([UV, "venv", "--quiet", tmp_path / "env"], check=True)
    python = tmp_path / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    installed = subprocess.run(
        [*pip, str(folder), package], capture_output=True, text=True, check=False
    )
    if installed.returncode:
        pytest.skip(f"left out: {package} could not be installed; it needs a package index")
    done = subprocess.run(
        [python, "-I", "-c", script],
        env={
            **os.environ,
            "SANKOFA_URL": service.server.address,
            "SANKOFA_API_KEY": service.key(),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
