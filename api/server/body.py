"""A complete body in pieces, which the server sends without joining them."""

from collections.abc import Iterator, Sequence


class Pieces:
    """A complete response body as byte strings that are sent one after another.

    A resource hands it to Falcon with ``resp.set_stream(body, len(body))``, which also sets
    Content-Length. Our server sends the head and all pieces in one system call, from where they
    are in memory; any other WSGI server, and Falcon's test client, iterates over the pieces. What
    a piece views must not change until the response is sent.
    """

    __slots__ = ("_size", "pieces")

    def __init__(self, pieces: Sequence[bytes | memoryview]) -> None:
        self.pieces = pieces
        self._size = sum(map(len, pieces))

    def __len__(self) -> int:
        """Return the number of bytes."""
        return self._size

    def __iter__(self) -> Iterator[bytes | memoryview]:
        """Iterate over the pieces."""
        return iter(self.pieces)
