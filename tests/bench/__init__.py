"""Timings, as ratios between things measured in the same run (``make bench``)."""
