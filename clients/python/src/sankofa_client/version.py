"""The version of this client, as it is installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("sankofa-client")
except PackageNotFoundError:
    # Run from a checkout.
    __version__ = "0"
