"""Where everything lives: one home, or a URL for each place."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Places:
    """The places of one installation."""

    home: Path
    landing: str
    record: str
    marts: Path
    keys: Path

    @property
    def sample(self) -> Path:
        """The folder of the sample world."""
        return self.home / "sample"

    @property
    def dagster(self) -> Path:
        """The folder in which Dagster keeps its runs."""
        return self.home / "dagster"


def places() -> Places:
    """Read the places from the environment; ``SANKOFA_HOME`` alone is enough."""
    home = Path(os.environ.get("SANKOFA_HOME", ".sankofa")).resolve()
    return Places(
        home=home,
        landing=os.environ.get("SANKOFA_LANDING_URL", str(home / "landing")),
        record=os.environ.get("SANKOFA_RECORD_URL", str(home / "record")),
        marts=Path(os.environ.get("SANKOFA_MARTS", home / "marts")),
        keys=Path(os.environ.get("SANKOFA_KEYS", home / "keys.sqlite")),
    )
