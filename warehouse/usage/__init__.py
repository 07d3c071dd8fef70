"""The usage store: how many requests each key has made, in a file or a Redis.

While the store is down, each process limits the minute on its own and the month is not counted:
nobody is locked out because a counter is unavailable. Start with ``store.py``. Who a key belongs
to is in ``warehouse.control``, what a tier allows in ``warehouse/tiers.py``.
"""
