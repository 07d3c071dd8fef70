"""The keys and settings: what we must be given, and what is written wrong."""

from collections.abc import Iterator
from pathlib import Path

from pipelines.doctor.findings import Asked, Finding, fault, note, ok
from warehouse.errors import SankofaError
from warehouse.mart.builds import builds_at


def api_keys(asked: Asked) -> Iterator[Finding]:
    """See whether anybody can get in."""
    from warehouse.keys.store import KeyStore, list_keys

    try:
        held = [row for row in list_keys(KeyStore(asked.settings.keys)) if row.is_active()]
    except SankofaError:
        # Whether the store answers is told with the stores; that it was lost is told settings.
        lost = "://" not in asked.settings.keys and not Path(asked.settings.keys).exists()
        if lost and builds_at(asked.settings.marts).current() is not None:
            says = f"{asked.settings.keys} is gone, and every key with it: nobody can ask"
            yield fault("API keys", says, "bring it back from a backup, or make keys anew")
        return
    make = "`sankofa keys create --tier starter` makes one"
    if not held:
        yield fault("API keys", "no key is in use: nobody can ask", make)
    else:
        yield ok("API keys", f"{len(held)} in use")


def contact(asked: Asked) -> Iterator[Finding]:
    """See whether we say who we are to the sources that we ask."""
    if asked.settings.contact:
        yield ok("contact", f"SANKOFA_CONTACT is {asked.settings.contact}")
        return
    tell = fault if asked.live else note
    yield tell(
        "contact",
        "missing: SANKOFA_CONTACT is not set, and live sources block whoever does not say who asks",
        "set it to an e-mail address or a web page of yours",
    )


def written(asked: Asked) -> Iterator[Finding]:
    """See whether the settings that are read only later can be read."""
    from warehouse.tiers import configured_tiers

    for error in asked.setting_errors:
        yield fault("settings", str(error), f"correct or unset {error.name}")
    kept, tiers = asked.settings.keep_builds, configured_tiers(asked.settings.tiers_file)
    yield ok("settings", f"{kept} builds are held; tiers: {', '.join(tiers)}")


def signing_key(asked: Asked) -> Iterator[Finding]:
    """See whether the key that manifests are signed with is ours alone."""
    path = asked.settings.signing_key
    if not path.exists():
        yield note("signing key", f"{path} is not there yet", "the first publication makes it")
    elif path.stat().st_mode & 0o077:
        says = f"{path} can be read by others"
        yield fault("signing key", says, f"make it yours alone: `chmod 600 {path}`")
    else:
        yield ok("signing key", "is there, and ours alone")
