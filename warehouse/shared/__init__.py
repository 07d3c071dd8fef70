"""What every package uses: settings, errors, files and their checks, locks, dates, JSON."""
