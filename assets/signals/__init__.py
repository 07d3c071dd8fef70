"""What public tenders show of a country, month by month."""
