"""What is damaged, and what brings it back."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Damage:
    """One damaged thing: what it is, what is wrong, and what to do.

    ``remake`` says that it can be made again from what is held: what is damaged is deleted
    (``delete``) and a publication makes it anew. Everything else only a backup brings back.
    """

    what: str
    says: str
    do: str
    remake: bool = False
    delete: Path | None = None


PUBLISH_AGAIN = "`sankofa verify --repair` makes it again"


def restore(path: str, otherwise: str = "") -> str:
    """Return the advice to restore a path from a backup, and what else there is to do."""
    return f"restore {path} from your backup{f'; or {otherwise}' if otherwise else ''}"
