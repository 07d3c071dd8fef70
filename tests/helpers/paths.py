"""Where the checkout is, and the real files next to it."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared" / "real"
VENDOR = ROOT / "tests" / "vendor"
