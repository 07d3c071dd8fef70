"""Company filings: the figures issuers reported."""
