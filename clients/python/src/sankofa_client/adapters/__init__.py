"""The client inside of other frameworks, where a simulated day decides what can be known.

``known_then.py`` enforces the day; ``backtrader.py`` takes it from a backtest and ``langchain.py``
from whoever runs an agent. Neither framework is needed unless its module is imported.
"""
