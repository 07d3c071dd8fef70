"""Point-in-time data for a strategy of backtrader: the bar decides what is known.

class Value(backtrader.Strategy):
def __init__(self):
self.known = known_then(self, Sankofa())

def next(self):
margins = self.known.ask("screen", "net_margin")
"""

from datetime import timedelta

import backtrader

from sankofa_client.adapters.known_then import KnownThen
from sankofa_client.client import Sankofa


def known_then(strategy: backtrader.Strategy, client: Sankofa) -> KnownThen:
    """Return what a strategy may know: what was public by the end of the day before its bar.

    What becomes public on a day may do so after its close, so the session of that day, also at its
    close, knows nothing of it.
    """
    return KnownThen(client, lambda: strategy.datetime.date(0) - timedelta(days=1))
