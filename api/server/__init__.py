"""The waitress server: its loop and connections, trusted proxies, the access log.

Start with ``waitress_loop.py``. Nothing here knows what the app answers.
"""
