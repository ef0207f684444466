"""A subscriber that reads what it is sent: without one, a PUBLISH costs next to nothing."""

import threading
from types import TracebackType
from typing import Self

from benchmarks.sample import Unavailable
from benchmarks.servers import Server


class Listener:
    """A context in which messages are received; `heard` counts them. Unavailable if none came."""

    def __init__(self, server: Server, pattern: str) -> None:
        self._client = server.client()
        self._thread = threading.Thread(target=self._read)
        self._pattern = pattern
        self.heard = 0

    def __enter__(self) -> Self:
        self._client.call("PSUBSCRIBE", self._pattern)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.shutdown()
        self._thread.join()
        self._client.close()
        if kind is None and not self.heard:
            raise Unavailable(f"no message came to {self._pattern}")

    def _read(self) -> None:
        try:
            while True:
                self._client.receive()
                self.heard += 1
        except OSError:
            return  # shut down
