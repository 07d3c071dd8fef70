"""Published bulk exports, as they are read: ``published`` has versions, manifests and files.

``file_store`` is the folder or object store they are in. Writing them belongs to
``assets.exports``; nothing here imports Arrow or DuckDB.
"""
