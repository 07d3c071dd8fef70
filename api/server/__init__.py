"""The waitress server: worker processes, connections, trusted proxies, the access log.

Start with ``loop.py``. Nothing here knows what the app answers.
"""
