"""The Python client against the server that all tests of the contract share."""
