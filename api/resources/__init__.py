"""One class a resource, holding only what it was given."""
