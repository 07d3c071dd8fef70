"""Which build readers follow, so that code of two mart schema versions serves from one place.

Code up to version 11 knows one pointer, ``current``, and cannot read a build of a newer version.
Code of a later version leaves that pointer alone and switches its own, kept by schema version in
``Pointers``. Servers of the version before go on with the build they can read until they are
replaced. Whoever switches last is followed by everyone who can read that build.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import msgspec

# Code up to this version follows ``current`` and knows no other pointer.
LAST_WITH_ONE_POINTER = 11
# How long a build is kept at least for servers of an older version after a newer one published.
KEPT_FOR_OLDER = timedelta(days=7)


class Pointer(msgspec.Struct, frozen=True):
    """What code of a schema version follows; ``behind_since`` a newer one published."""

    data_version: str
    behind_since: datetime | None = None


class Pointers(msgspec.Struct, frozen=True):
    """What ``current`` names, and the pointers by schema version.

    The one of version 11 says what ``current`` named when the others were last switched: if it
    names something else, older code has switched since.
    """

    current: str | None = None
    by_version: Mapping[int, Pointer] = {}

    @property
    def _now(self) -> Mapping[int, Pointer]:
        """The pointers by schema version; what older code switched to since can be read by all."""
        pointers, seen = dict(self.by_version), self.by_version.get(LAST_WITH_ONE_POINTER)
        if self.current is None:
            pointers.pop(LAST_WITH_ONE_POINTER, None)
        elif seen is None or seen.data_version != self.current:
            return dict.fromkeys((LAST_WITH_ONE_POINTER, *pointers), Pointer(self.current))
        return pointers

    def followed(self, schema_version: int) -> list[str]:
        """Return what code of a schema version reads; the later ones if the first are gone."""
        now = self._now
        return [now[v].data_version for v in sorted(now, reverse=True) if v <= schema_version]

    def switched(
        self, data_version: str, written_in: int, schema_version: int, now: datetime
    ) -> "Pointers":
        """Return the pointers after code of a schema version switched to a build.

        Everyone who can read the version it is ``written_in`` follows; the others stay behind.
        """
        current = data_version if written_in <= LAST_WITH_ONE_POINTER else self.current
        if schema_version <= LAST_WITH_ONE_POINTER:
            return Pointers(current, self.by_version)
        pointers = {
            schema_version: Pointer(data_version),
            **Pointers(current, self.by_version)._now,
        }
        return Pointers(
            current,
            {
                version: Pointer(data_version)
                if version >= written_in
                else Pointer(pointer.data_version, pointer.behind_since or now)
                for version, pointer in pointers.items()
            },
        )

    def without(self, data_versions: Collection[str]) -> "Pointers":
        """Return the pointers that do not name any of some builds."""
        return Pointers(
            None if self.current in data_versions else self.current,
            {
                version: pointer
                for version, pointer in self.by_version.items()
                if pointer.data_version not in data_versions
            },
        )

    def in_use(self) -> set[str]:
        """Return every build that code of some schema version follows."""
        return {pointer.data_version for pointer in self._now.values()}

    def for_older(self, schema_version: int) -> dict[str, datetime | None]:
        """Return the builds that only older code follows, and since when it is behind."""
        ours = self.followed(schema_version)[:1]
        return {
            pointer.data_version: pointer.behind_since
            for version, pointer in self._now.items()
            if version < schema_version and pointer.data_version not in ours
        }


_decode = msgspec.json.Decoder(dict[int, Pointer]).decode


def decode_pointers(current: str | None, body: bytes | str | None) -> Pointers:
    """Return the pointers as they are stored: ``current`` and, in JSON, those by version."""
    return Pointers(current, {} if body is None else _decode(body))


def encode_pointers(pointers: Pointers) -> bytes:
    """Return the pointers by version as JSON."""
    return msgspec.json.encode(pointers.by_version)
