"""A health check over HTTP: ``python -m deploy.probe http://127.0.0.1:8321/health``.

Exits with 0 if the address answers 200. It imports next to nothing, so that it can run every few
seconds beside a server.
"""

import sys
import urllib.request


def answers(url: str, seconds: float = 5) -> bool:
    """Return whether an address answers 200 in time."""
    try:
        with urllib.request.urlopen(url, timeout=seconds) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(not answers(sys.argv[1]))
