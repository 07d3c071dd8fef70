"""``python -m api``: serve the published builds of a folder."""

import argparse
import sys
from pathlib import Path

from api.serve import serve


def main() -> None:
    """Read the places and serve."""
    parser = argparse.ArgumentParser(prog="api", description=__doc__)
    parser.add_argument("--marts", required=True, help="folder or database of the builds")
    parser.add_argument("--keys", type=Path, required=True, help="file of the key store")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8321)
    asked = parser.parse_args()
    try:
        serve(asked.marts, asked.keys, asked.host, asked.port)
    except OSError as error:
        sys.exit(f"cannot serve at {asked.host}:{asked.port}: {error}; choose another --port")


if __name__ == "__main__":
    main()
