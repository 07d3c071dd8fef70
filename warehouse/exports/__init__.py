"""Published bulk exports: where they lie, what their manifest says, which files there are."""
