"""Waitress answering constant bodies: its own ceiling, with the settings that suit it best."""

import logging
import sys
from collections.abc import Callable, Iterable
from typing import Any

from waitress import serve


def main(port: int, sizes: dict[str, int]) -> None:
    """Answer each path with so many bytes."""
    bodies = {f"/{name}": b"x" * size for name, size in sizes.items()}

    def app(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        body = bodies[environ["PATH_INFO"]]
        head = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start("200 OK", head)
        return [body]

    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    serve(app, host="127.0.0.1", port=port, threads=4, ident=None, asyncore_use_poll=True)


if __name__ == "__main__":
    pairs = (item.split("=") for item in sys.argv[2:])
    main(int(sys.argv[1]), {name: int(size) for name, size in pairs})
