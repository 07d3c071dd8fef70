"""The keys and settings: what is missing and what has a wrong value."""

from collections.abc import Iterator
from pathlib import Path

from pipelines.doctor.findings import CheckContext, Finding, fault, note, ok
from warehouse.errors import SankofaError
from warehouse.mart.builds import builds_at
from warehouse.record.landing import open_landing
from warehouse.settings import DEVELOPMENT_WITHHELD_KEY


def api_keys(context: CheckContext) -> Iterator[Finding]:
    """Check that at least one API key works."""
    from warehouse.keys.store import KeyStore, list_keys

    try:
        active = [row for row in list_keys(KeyStore(context.settings.keys)) if row.is_active()]
    except SankofaError:
        # Whether the store answers is reported with the stores; that it was lost is reported here.
        lost = "://" not in context.settings.keys and not Path(context.settings.keys).exists()
        if lost and builds_at(context.settings.marts).current() is not None:
            says = f"{context.settings.keys} is missing: no request can be authorised"
            yield fault("API keys", says, "restore it from a backup, or create new keys")
        return
    make = "`sankofa keys create --tier starter` creates one"
    if not active:
        yield fault("API keys", "no key is in use: no request can be authorised", make)
    else:
        yield ok("API keys", f"{len(active)} in use")


def contact(context: CheckContext) -> Iterator[Finding]:
    """Check that a contact is set, which sources are sent."""
    if context.settings.contact:
        yield ok("contact", f"SANKOFA_CONTACT is {context.settings.contact}")
        return
    report = fault if context.live else note
    yield report(
        "contact",
        "missing: SANKOFA_CONTACT is not set, and live sources block anonymous clients",
        "set it to your e-mail address or web page",
    )


def withheld_key(context: CheckContext) -> Iterator[Finding]:
    """Check that withheld parties of real sources are hashed under a secret."""
    real = open_landing(context.settings).world() == "real"
    if real and context.settings.withheld_key == DEVELOPMENT_WITHHELD_KEY:
        yield fault(
            "withheld parties",
            "SANKOFA_WITHHELD_KEY is not set: they are hashed under a public word, so that anyone "
            "can test whether a name is among them",
            "set it to a secret of your own, and ingest into a new home",
        )


def setting_values(context: CheckContext) -> Iterator[Finding]:
    """Check the values of all settings and the file of tiers."""
    from warehouse.tiers import configured_tiers

    for error in context.setting_errors:
        yield fault("settings", str(error), f"correct or unset {error.name}")
    tiers = configured_tiers(context.settings.tiers_file)
    yield ok(
        "settings", f"{context.settings.keep_builds} builds are kept; tiers: {', '.join(tiers)}"
    )


def signing_key(context: CheckContext) -> Iterator[Finding]:
    """Check that only its owner can read the key that signs manifests."""
    path = context.settings.signing_key
    if not path.exists():
        yield note("signing key", f"{path} does not exist yet", "the first publication creates it")
    elif path.stat().st_mode & 0o077:
        says = f"{path} can be read by other users"
        yield fault("signing key", says, f"restrict it: `chmod 600 {path}`")
    else:
        yield ok("signing key", "exists, readable only by its owner")
