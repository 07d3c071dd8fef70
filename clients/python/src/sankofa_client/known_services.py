"""What is remembered about services from one run to the next, as SSH remembers hosts.

A small JSON file has, for each service, the key that its manifests were first signed with and the
newest version that it offered as the latest.
"""

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from sankofa_client.errors import SankofaError


class KnownService:
    """The entry of one service; ``name`` is its host, with the port and the path it is below.

    The scheme is no part of it: plain HTTP is no way to begin anew.
    """

    def __init__(self, path: Path, base_url: str) -> None:
        address = urlsplit(base_url)
        self.path, self.name = path, f"{address.netloc.rpartition('@')[2].lower()}{address.path}"

    @property
    def signing_key(self) -> bytes | None:
        """The key, in PEM, that the service is known by; None if none was verified yet."""
        key = self._entry().get("signing_key")
        return None if key is None else key.encode()

    @property
    def latest(self) -> str | None:
        """The newest version that it offered as the latest."""
        return self._entry().get("latest")

    def remember(self, **members: str) -> None:
        """Store members of the entry; warn if the file cannot be written."""
        services = self._services()
        entry = services.get(self.name, {})
        if entry == {**entry, **members}:
            return
        services[self.name] = {**entry, **members}
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(services, indent=2), encoding="utf-8")
            part.replace(self.path)
        except OSError as error:
            warnings.warn(
                f"The entry for {self.name} cannot be stored ({error}): its next key will "
                "be trusted as the first one was. Pass signing_key, or a file that can be written "
                "as known_services.",
                stacklevel=2,
            )

    def _entry(self) -> Mapping[str, str]:
        return self._services().get(self.name, {})

    def _services(self) -> dict[str, dict[str, str]]:
        try:
            services = json.loads(self.path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError) as error:
            raise self._unreadable(str(error)) from error
        entries = services.values() if isinstance(services, dict) else [None]
        if not all(isinstance(entry, dict) for entry in entries):
            raise self._unreadable("it is no object of objects")
        return dict(services)

    def _unreadable(self, reason: str) -> SankofaError:
        return SankofaError(
            f"{self.path}, which has the signing keys of known services, cannot be read: {reason}. "
            "Restore it, or delete it: then the next key of each service is trusted as its first."
        )


def default_path() -> Path:
    """Return the file of known services: in ``sankofa`` in the user's folder of settings."""
    settings = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA")
    return Path(settings or Path.home() / ".config") / "sankofa" / "known_services.json"
