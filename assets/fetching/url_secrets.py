"""Removal of API keys and credentials from URLs, before one is stored, logged or shown."""

import logging
from urllib.parse import urlsplit, urlunsplit

import httpx2

SECRET_PARAMETERS = frozenset(
    {"api_key", "apikey", "key", "token", "access_token", "subscription-key"}
)


def without_secrets(url: str) -> str:
    """Return a URL without its credentials and API keys, otherwise unchanged."""
    parts = urlsplit(url)
    query = "&".join(parameter for parameter in parts.query.split("&") if not _is_secret(parameter))
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query))


def secrets_in(url: str) -> list[str]:
    """Return the values of the API keys in a URL, as written there."""
    parameters = [item for item in urlsplit(url).query.split("&") if _is_secret(item)]
    return [key for item in parameters if (key := item.partition("=")[2])]


def log_without_secrets(record: logging.LogRecord) -> bool:
    """Logging filter: remove API keys from the URLs that the HTTP library logs."""
    # httpx2 passes the URL as an argument; its message is a constant.
    if isinstance(record.args, tuple):
        record.args = tuple(
            without_secrets(str(value)) if isinstance(value, httpx2.URL) else value
            for value in record.args
        )
    return True


def _is_secret(parameter: str) -> bool:
    return parameter.partition("=")[0].lower() in SECRET_PARAMETERS
