"""A client of Sankofa: point-in-time data for African and emerging markets, as DataFrames.

Start with ``Sankofa`` in ``client.py`` and ``Company`` in ``company.py``. ``connection.py`` sends
requests, ``pages.py`` joins the pages of a list, ``posted.py`` sends tables, ``frames.py`` makes
DataFrames of rows with the columns of ``description.py`` and of Parquet files, ``tables.py`` wide
and flat ones of them, and ``bulk.py`` downloads files and verifies them with the keys of
``known_services.py``; ``receipts.py`` verifies answers. Nothing here imports the service.
"""

from sankofa_client.client import Sankofa
from sankofa_client.company import Company
from sankofa_client.errors import (
    AmbiguousIdentifier,
    BadRequest,
    FileDamaged,
    HigherTierNeeded,
    KeyRefused,
    NotFound,
    NotReached,
    OutdatedVersion,
    PackageMissing,
    ProblemError,
    RateLimited,
    SankofaError,
    SignatureInvalid,
    Unavailable,
    UnknownIdentifier,
)
from sankofa_client.receipts import Receipt, verify_receipt
from sankofa_client.version import __version__

__all__ = [
    "AmbiguousIdentifier",
    "BadRequest",
    "Company",
    "FileDamaged",
    "HigherTierNeeded",
    "KeyRefused",
    "NotFound",
    "NotReached",
    "OutdatedVersion",
    "PackageMissing",
    "ProblemError",
    "RateLimited",
    "Receipt",
    "Sankofa",
    "SankofaError",
    "SignatureInvalid",
    "Unavailable",
    "UnknownIdentifier",
    "__version__",
    "verify_receipt",
]
