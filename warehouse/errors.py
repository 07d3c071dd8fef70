"""Every error of ours: a sentence in our words, translated once at each surface."""


class SankofaError(Exception):
    """Something went wrong that we can name; the message says what to do next."""


class LandingError(SankofaError):
    """A landed body is missing, or is no longer the bytes that were fetched."""


class LicenceError(SankofaError):
    """A source whose licence forbids redistribution was offered."""


class BadTable(SankofaError):
    """An Arrow table does not have the columns or the types that the record asks for."""


class WriteConflict(SankofaError):
    """Other writers kept winning; nothing of this load was written."""


class UnknownVersion(SankofaError):
    """A data_version was asked for that was never published."""


class NothingPublished(SankofaError):
    """No build has been published yet."""


class DatastoreUnavailable(SankofaError):
    """The published build cannot be read at the moment."""


class BadParameters(SankofaError):
    """A read was asked for with parameters that do not go together."""
