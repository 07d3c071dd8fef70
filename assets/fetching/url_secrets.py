"""Removal of API keys and credentials from URLs, before one is stored, logged or shown."""

import logging
from urllib.parse import unquote_plus, urlsplit, urlunsplit

import httpx2

# Names of query parameters, in lower case and with hyphens as underscores.
SECRET_PARAMETERS = frozenset(
    {
        "access_token",
        "api_key",
        "apikey",
        "app_token",
        "$$app_token",
        "auth_token",
        "client_secret",
        "key",
        "ocp_apim_subscription_key",
        "password",
        "sig",
        "signature",
        "subscription_key",
        "token",
        "x_amz_credential",
        "x_amz_security_token",
        "x_amz_signature",
        "x_api_key",
        "x_goog_signature",
    }
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
    name = unquote_plus(parameter.partition("=")[0]).lower()
    return name.replace("-", "_") in SECRET_PARAMETERS
