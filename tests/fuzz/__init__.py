"""Requests that nobody would write, in numbers, each held against what the contract allows.

``python -m tests.fuzz --requests 1000000`` asks the app itself, without a socket.
"""
