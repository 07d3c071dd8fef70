"""Whether an export is what was signed: the signature, then each file by its digest."""

import hashlib

from assets.exports.signing import is_signed
from warehouse.exports.manifest import decode
from warehouse.exports.place import Place
from warehouse.exports.published import (
    MANIFEST,
    PUBLIC_KEY,
    SIGNATURE,
    delta_name,
    file_name,
)

_PART = 1 << 20


def problems(destination: str, data_version: str, public_pem: bytes | None = None) -> list[str]:
    """Say what of a version is not as it was signed; nothing where all is.

    ``public_pem`` is the key that is trusted; without it the one beside the manifest, which
    tells damage and not fraud.
    """
    place = Place.of(destination)
    body, signature = place.read(data_version, MANIFEST), place.read(data_version, SIGNATURE)
    if not is_signed(body, signature, public_pem or place.read(data_version, PUBLIC_KEY)):
        return [f"{MANIFEST}: its signature is not of these bytes"]
    wrong = []
    for artifact in decode(body).artifacts:
        wrong += _differs(place, data_version, file_name(artifact.key), artifact.sha256)
        if delta := artifact.delta:
            wrong += _differs(place, data_version, delta_name(artifact.key), delta.sha256)
    return wrong


def _differs(place: Place, data_version: str, name: str, sha256: str) -> list[str]:
    if not place.exists(data_version, name):
        return [f"{name}: is missing"]
    digest = hashlib.sha256()
    with place.open(data_version, name) as file:
        while part := file.read(_PART):
            digest.update(part)
    if digest.hexdigest() == sha256:
        return []
    return [f"{name}: its SHA-256 is {digest.hexdigest()}, and {sha256} was signed"]
