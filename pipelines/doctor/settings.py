"""The keys and settings: what is missing and what has a wrong value."""

from collections.abc import Iterator

from pipelines.doctor.findings import CheckContext, Finding, fault, note, ok
from pipelines.doctor.stores import (
    CREATE_KEYS,
    RESTORE_KEYS,
    is_key_store_absent,
    is_key_store_lost,
)
from warehouse.errors import SankofaError
from warehouse.keys.store import KeyStore, list_keys
from warehouse.private_folders import readable_by_others
from warehouse.record.landing import open_landing
from warehouse.record.worlds import MAKE_WITHHELD_KEY, why_weak
from warehouse.tiers import configured_tiers


def api_keys(context: CheckContext) -> Iterator[Finding]:
    """Check that at least one API key works."""
    no_request = "no request can be authorised"
    if is_key_store_lost(context.settings):
        yield fault("API keys", f"{context.settings.keys} is missing: {no_request}", RESTORE_KEYS)
        return
    if is_key_store_absent(context.settings):
        yield note("API keys", f"there is none yet: {no_request}", CREATE_KEYS)
        return
    try:
        active = [row for row in list_keys(KeyStore(context.settings.keys)) if row.is_active()]
    except SankofaError:
        # Whether the store answers is reported with the stores.
        return
    make = "`sankofa keys create --tier starter` creates one"
    if not active:
        yield fault("API keys", f"no key is in use: {no_request}", make)
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
    if open_landing(context.settings).world() != "real":
        return
    reason = why_weak(context.settings.withheld_key)
    if reason is not None:
        yield fault(
            "withheld parties",
            f"SANKOFA_WITHHELD_KEY {reason}: real documents are neither loaded nor published",
            f"{MAKE_WITHHELD_KEY}; docs/operating.md says what to do in a home that was loaded "
            "under another key",
        )
    else:
        yield ok("withheld parties", "hashed under a secret")


def private_folders(context: CheckContext) -> Iterator[Finding]:
    """Check that other users of the machine cannot read documents, record, keys and counters."""
    opened = readable_by_others(context.settings)
    if opened:
        # A store of keys or counters holds no documents, and may be new.
        report = fault if any(path.is_dir() for path in opened) else note
        yield report(
            "private folders",
            f"other users can read {', '.join(map(str, opened))}",
            "the next other `sankofa` command of their owner closes them",
        )
    else:
        yield ok("private folders", "landing, record, stage, keys and counters are the user's own")


def setting_values(context: CheckContext) -> Iterator[Finding]:
    """Check the values of all settings and the file of tiers."""
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
