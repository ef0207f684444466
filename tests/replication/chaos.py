"""Links that break: a proxy that cuts, and masters that speak nonsense."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from collections.abc import Callable, Iterator

Script = Callable[[socket.socket], None]


@contextlib.contextmanager
def listening(serve: Script) -> Iterator[int]:
    """The port of a server that gives each connection to `serve`, in a thread of its own."""
    listener = socket.create_server(("127.0.0.1", 0))
    stopped = threading.Event()

    def accept() -> None:
        while not stopped.is_set():
            try:
                link, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=_quietly, args=(serve, link), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        stopped.set()
        listener.close()


def _quietly(serve: Script, link: socket.socket) -> None:
    with contextlib.suppress(OSError), link:
        serve(link)


def cutting_proxy(port: int, seed: int, cuts: int) -> tuple[Script, Callable[[], bool]]:
    """Forwards to a port, and cuts so many connections after some bytes; says when it has."""
    dice = random.Random(seed)
    left = [dice.randint(100, 60_000) for _ in range(cuts)]

    def serve(link: socket.socket) -> None:
        most = left.pop() if left else 1 << 60
        with socket.create_connection(("127.0.0.1", port)) as master:
            back = threading.Thread(target=_forward, args=(link, master, 1 << 60), daemon=True)
            back.start()
            _forward(master, link, most)

    return serve, lambda: not left


def _forward(source: socket.socket, target: socket.socket, most: int) -> None:
    with contextlib.suppress(OSError):
        while most > 0 and (data := source.recv(min(most, 4096))):
            most -= len(data)
            target.sendall(data)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


class Lines:
    """Reads requests line by line, as a master that answers by their first words."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._file = link.makefile("rb")

    def next_words(self) -> list[bytes]:
        """The words of the next request; none when there are no more."""
        head = self._file.readline()
        if not head.startswith(b"*"):
            return []
        words = []
        for _ in range(int(head[1:])):
            size = int(self._file.readline()[1:])
            words.append(self._file.read(size + 2)[:-2])
        return words

    def say(self, data: bytes) -> None:
        self._link.sendall(data)


def leave(link: socket.socket) -> None:
    """Say nothing and go. What was sent is read first: else the system would reset the link."""
    link.recv(4096)


def hold(link: socket.socket) -> None:
    """Say nothing and stay."""
    while link.recv(4096):
        pass


def master(answer_to_psync: bytes, *, stays: bool = False, **answers: bytes) -> Script:
    """A master that says this to PSYNC and then nothing more; other answers are by command."""

    def serve(link: socket.socket) -> None:
        lines = Lines(link)
        while words := lines.next_words():
            name = words[0].decode().lower()
            if name == "psync":
                lines.say(answer_to_psync)
                if stays:
                    hold(link)
                return
            lines.say(answers.get(name, b"+PONG\r\n" if name == "ping" else b"+OK\r\n"))

    return serve
