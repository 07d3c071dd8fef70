"""HTTP clients as the settings of the environment configure them."""

import os
from typing import Any

from assets.fetching.client import Client
from warehouse.shared.settings import read_settings


def http_client(**options: Any) -> Client:
    """Return a client with the contact and the rate-limit folder of the environment."""
    settings = read_settings(os.environ)
    return Client(settings.contact, settings.turns, **options)
