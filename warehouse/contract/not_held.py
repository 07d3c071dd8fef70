"""What the service does not hold, so that nobody searches for it: one list for docs and agents."""

NOT_HELD: tuple[tuple[str, str], ...] = (
    (
        "Prices of shares, bonds and commodities; market values, returns, volumes",
        "No source that may be redistributed; a ratio of price to earnings cannot be made here.",
    ),
    (
        "Persons: directors, owners, officials, their pay",
        "No personal data is published, by design.",
    ),
    ("Owners and groups of companies", "Registers of owners name persons."),
    (
        "Forecasts, estimates, ratings, targets, scores",
        "Nothing is estimated.",
    ),
    (
        "What annual indicators were known to be on a past day",
        "Their source documents no release dates; today's figure must not stand for a past one.",
    ),
    ("News, filings as text, documents of tenders", "Only figures and releases, with a reference."),
    ("Amounts converted to another currency", "Amounts are as reported; rates are series (FX.*)."),
    (
        "Rankings of issuers by an amount, such as revenue",
        "Amounts of different currencies are not compared; screens rank by ratios.",
    ),
    ("Figures of private companies that file nothing", "Only what a source publishes is held."),
    ("Rates and prices within a day", "The shortest step is a day."),
)
