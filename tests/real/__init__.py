"""Measurements on the real files beside the checkout, to be run by hand."""
