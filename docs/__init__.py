"""The guides, as a package, so that they are installed with the service that shows them."""
