"""Company filings: what issuers reported to the SEC, to Brazil's CVM or in XBRL."""
