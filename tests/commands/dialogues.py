"""Dialogues of several clients with a server, held with redis-server and StrataKV alike.

A line is `client: command`; `client` is a letter, with the protocol that it speaks in front of the
first line: `a3 b2 r2`. `@r` within a command is the number that the server has given to client r.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.commands.scripts import parse
from tests.harness.servers import Process
from tests.harness.wire import WireClient, encode

END = b"the end of what was sent"
READ = b"function(keys) return redis.call('get', keys[1]) end"
"""What READ in the code of a function stands for."""


@dataclass(slots=True)
class Dialogue:
    """The clients of one server."""

    server: Process
    protocols: str
    clients: dict[str, WireClient] = field(default_factory=dict)
    numbers: dict[str, bytes] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    """Those between MULTI and EXEC, or gone: they cannot be asked what they were sent."""

    def __post_init__(self) -> None:
        for name, protocol in map(tuple, self.protocols.split()):
            client = self.clients[name] = self.server.client(int(protocol))
            self.numbers[name] = client.send("CLIENT", "ID").frame.data or b""

    def hold(self, lines: str) -> list[str]:
        """What every client was sent after each line, as it came but for numbers of clients."""
        shown: list[str] = []
        for line in filter(None, map(str.strip, lines.splitlines())):
            name, _, text = line.partition(":")
            for call in parse(text):
                heard = self.say(name, [self._named(word) for word in call])
                shown.append(f"{line} => {heard}")
        return shown

    def say(self, name: str, call: list[bytes]) -> list[str]:
        client = self.clients[name]
        client.write(encode(*call))
        found = {name: [client.read_any().raw]}
        word = call[0].upper()
        if word in (b"MULTI", b"QUIT"):
            self.silent.add(name)
        elif word in (b"EXEC", b"DISCARD"):
            self.silent.discard(name)
        for other, listener in self.clients.items():
            if other not in self.silent:
                found.setdefault(other, []).extend(_rest(listener))
        return [f"{one}: {self._unnamed(raw)!r}" for one in sorted(found) for raw in found[one]]

    def _named(self, word: bytes) -> bytes:
        if word[:1] == b"@":
            return self.numbers[word[1:].decode()]
        return word.replace(b"READ", READ)

    def _unnamed(self, raw: bytes) -> bytes:
        for name, number in self.numbers.items():
            raw = raw.replace(b":%b\r\n" % number, b":@%b\r\n" % name.encode())
        return raw

    def close(self) -> None:
        for client in self.clients.values():
            client.close()


def _rest(client: WireClient) -> list[bytes]:
    """What a client was sent up to now; one with subscriptions is answered in another form."""
    client.write(encode("PING", END))
    found: list[bytes] = []
    while END not in (raw := client.read_any().raw):
        found.append(raw)
    return found
