"""What a publication raises if its audit refuses the build: ``quality.audit`` does the work."""

from warehouse.errors import SankofaError


class AuditFailed(SankofaError):
    """A check failed; nothing was published, and the snapshot is kept for inspection."""
