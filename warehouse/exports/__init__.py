"""Published bulk exports, as they are read: ``published`` has versions, manifests and files.

They are in a folder or an object store. Writing them belongs to
``assets.exports``; nothing here imports Arrow or DuckDB.
"""
