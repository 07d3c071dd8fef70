"""The signal panels that are published, by key."""

PANELS: tuple[tuple[str, str], ...] = (
    ("procurement-demand", "Procurement demand by category and buyer"),
    ("award-concentration", "Concentration of awards among suppliers"),
    ("buyer-supplier-concentration", "Concentration of awards among suppliers of each buyer"),
    ("single-bid-rate", "Share of processes with a single tenderer"),
    ("bidder-participation", "Tenderers in a process"),
    ("submission-window", "Days to submit a tender"),
    ("time-to-award", "Days from the end of submission to the first award"),
    ("cancellation-rate", "Share of processes that ended without an award"),
    ("procurement-method-mix", "Share of each procurement method"),
    ("award-to-estimate", "Awards beside the estimated value"),
    ("value-revision", "Share of processes whose value was revised"),
    ("supplier-newcomer-rate", "Share of awards to suppliers without one in two years"),
    ("listed-award-intensity", "Awards to listed issuers beside their revenue"),
)
