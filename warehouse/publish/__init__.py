"""From the record to a published build.

Start with ``candidate``: a build that is being made. ``snapshot`` has the Parquet files that every
step reads, ``tables`` declares the mart tables, ``write`` writes them, and ``builds`` lists,
switches and deletes builds. Reading a build belongs to ``warehouse.serve``; deriving metrics and
signals, and the bulk files, belong to ``assets``.
"""
