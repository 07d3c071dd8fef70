"""Exports: manifests with their signatures, and every file."""

from collections.abc import Iterator
from pathlib import Path

from assets.exports.signing import SigningKey, is_signed
from pipelines.verify.damage import PUBLISH_AGAIN, Damage, restore
from warehouse.errors import DamagedFile, NothingPublished, SankofaError
from warehouse.exports.published import (
    MANIFEST_FILE,
    PUBLIC_KEY,
    SIGNATURE,
    PublishedExports,
    delta_name,
    file_name,
    schema_name,
)
from warehouse.file_checks import CHECKS, stored_checks
from warehouse.file_store import FileStore


def damaged_exports(
    destination: str,
    current: str | None,
    signing_key: Path | None,
    *,
    thorough: bool = True,
) -> Iterator[Damage]:
    """Yield what is damaged of the exports: by names and sizes, or by every byte."""
    published, store = PublishedExports(destination), FileStore.of(destination)
    try:
        published.manifest()
    except NothingPublished:
        pass
    except DamagedFile as error:
        yield Damage("exports", str(error), PUBLISH_AGAIN, remake=True)
    for version in published.versions():
        what, is_current = f"exports {version}", version == current
        try:
            names = _files_of(published, store, version)
        except SankofaError as error:
            yield _lost(what, store.path(version, MANIFEST_FILE), str(error), is_current)
            continue
        if store.is_local and not store.exists(version, CHECKS):
            says = f"{CHECKS}, the list of its files, is missing"
            yield _lost(what, store.path(version, CHECKS), says, is_current)
        if thorough and not _is_signed(store, version, signing_key):
            says = f"{MANIFEST_FILE} or its signature is not what was signed with our key"
            yield _lost(what, store.path(version, SIGNATURE), says, is_current)
        is_intact = published.is_intact if thorough else published.has_size
        for name in names:
            if not is_intact(version, name):
                says = f"{name} is missing or damaged"
                yield _lost(what, store.path(version, name), says, is_current)


def _files_of(published: PublishedExports, store: FileStore, version: str) -> list[str]:
    manifest = published.manifest(version)
    listed = set(stored_checks(store, version) or ()) - {MANIFEST_FILE}
    for artifact in manifest.artifacts:
        listed |= {file_name(artifact.key), schema_name(artifact.key)}
        if artifact.delta is not None:
            listed.add(delta_name(artifact.key))
    return sorted(listed)


def _is_signed(store: FileStore, version: str, signing_key: Path | None) -> bool:
    try:
        key = (
            SigningKey.at(signing_key).public_pem()
            if signing_key is not None and signing_key.exists()
            else store.read(version, PUBLIC_KEY)
        )
        body, signature = store.read(version, MANIFEST_FILE), store.read(version, SIGNATURE)
        # An operator may have changed the key: older versions have their own beside them.
        return is_signed(body, signature, key) or is_signed(
            body, signature, store.read(version, PUBLIC_KEY)
        )
    except (OSError, ValueError):
        return False


def _lost(what: str, path: str, says: str, is_current: bool) -> Damage:
    if is_current:
        delete = Path(path) if "://" not in path else None
        return Damage(what, says, PUBLISH_AGAIN, remake=True, delete=delete)
    version = what.rpartition(" ")[2]
    return Damage(what, says, restore(path, f"`sankofa builds drop {version}`"))
