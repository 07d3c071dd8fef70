"""Where everything lives: one home, or a URL for each place."""

import os
from dataclasses import dataclass
from pathlib import Path

from warehouse.errors import SankofaError


@dataclass(frozen=True)
class Places:
    """The places of one installation, each a path or a URL.

    ``marts`` is a folder or a database, ``keys`` and ``usage`` are each a file or a Redis.
    """

    home: Path
    landing: str
    record: str
    marts: str
    keys: str
    usage: str
    exports: str
    exports_url: str
    base_url: str

    @property
    def sample(self) -> Path:
        """The folder of the sample world."""
        return self.home / "sample"

    @property
    def dagster(self) -> Path:
        """The folder in which Dagster keeps its runs."""
        return self.home / "dagster"

    @property
    def work(self) -> Path:
        """The folder in which a build is staged, and in which a failed one is kept."""
        return self.home / "stage"

    @property
    def docs(self) -> Path:
        """The folder of the pages that go with each build."""
        return self.home / "docs"

    @property
    def signing_key(self) -> Path:
        """The file of the key that manifests are signed with."""
        return self.home / "signing-key.pem"


def places() -> Places:
    """Read the places from the environment; ``SANKOFA_HOME`` alone is enough."""
    home = Path(os.environ.get("SANKOFA_HOME", ".sankofa")).resolve()
    base_url = os.environ.get("SANKOFA_BASE_URL", "http://127.0.0.1:8321").rstrip("/")
    return Places(
        home=home,
        landing=os.environ.get("SANKOFA_LANDING_URL", str(home / "landing")),
        record=os.environ.get("SANKOFA_RECORD_URL", str(home / "record")),
        marts=os.environ.get("SANKOFA_MARTS", str(home / "marts")),
        keys=os.environ.get("SANKOFA_KEYS", str(home / "keys.sqlite")),
        usage=os.environ.get("SANKOFA_USAGE", str(home / "usage.counts")),
        exports=os.environ.get("SANKOFA_EXPORTS", str(home / "exports")),
        exports_url=os.environ.get("SANKOFA_EXPORTS_URL", f"{base_url}/exports"),
        base_url=base_url,
    )


def builds_kept() -> int:
    """Say how many builds are held: a request can pin any of them."""
    stated = os.environ.get("SANKOFA_KEEP_BUILDS", "30")
    if not stated.isdigit() or int(stated) < 1:
        raise SankofaError(f"SANKOFA_KEEP_BUILDS is {stated!r}; give a number of at least 1")
    return int(stated)
