"""The backlog: the last bytes of the stream, for replicas that come back after a short absence."""

from collections import deque
from itertools import islice


class Backlog:
    """The chunks from some offset to the end. Bounded in bytes, the last chunk included."""

    def __init__(self, limit_bytes: int, offset: int) -> None:
        self.limit_bytes = limit_bytes
        self.end = offset
        """The offset behind the last byte."""
        self.size = 0
        self._chunks: deque[bytes] = deque()

    @property
    def start(self) -> int:
        """The offset before the first byte."""
        return self.end - self.size

    def append(self, chunk: bytes) -> None:
        """Add what follows; what is older than the limit allows goes."""
        self.end += len(chunk)
        if len(chunk) >= self.limit_bytes:
            self._chunks.clear()
            chunk = chunk[len(chunk) - self.limit_bytes :]
            self.size = 0
        self._chunks.append(chunk)
        self.size += len(chunk)
        self.trim()

    def trim(self) -> None:
        """Keep the limit: whole chunks go."""
        while self.size > self.limit_bytes:
            self.size -= len(self._chunks.popleft())

    def has(self, offset: int) -> bool:
        """Whether everything behind an offset is here."""
        return self.start <= offset <= self.end

    def since(self, offset: int) -> list[bytes]:
        """The chunks behind an offset. Requires: they are here."""
        skip = offset - self.start
        for number, chunk in enumerate(self._chunks):
            if skip < len(chunk):
                first = chunk[skip:] if skip else chunk
                return [first, *islice(self._chunks, number + 1, None)]
            skip -= len(chunk)
        return []
