"""The landing of fetched documents and the append-only record, with its only writer.

A load runs through these modules in this order: ``landing`` stores the fetched body,
``incoming`` types and checks the parsed rows, ``row_index`` adds their hashes, ``merge`` compares
them with the record, ``append`` commits what is new, and ``ledger`` and ``quarantine`` note what
happened. ``as_of`` is the definition of what was known on a date, ``versions`` names published
states, ``tables`` lists the tables, ``store`` opens them. Start reading at ``append.py`` and
``as_of.py``.

Parsing a document belongs to ``assets``; tables made for reading belong to ``warehouse.publish``.
"""
