"""The REST surface: Falcon over the read functions of the warehouse."""
