"""Scripts of commands that are sent to redis-server and to StrataKV alike, line by line.

Words may be quoted and may hold Python's escapes; `//` begins a comment line.
"""

import shlex

from tests.harness.wire import Frame, Reply, WireClient

_UNORDERED = (b"KEYS", b"SMEMBERS", b"HGETALL")


def parse(script: str) -> list[list[bytes]]:
    lines = (line.strip() for line in script.splitlines())
    return [_words(line) for line in lines if line and not line.startswith("//")]


def _words(line: str) -> list[bytes]:
    words = shlex.split(line.replace("\\", "\\\\"))
    return [word.encode().decode("unicode_escape").encode("latin-1") for word in words]


def assert_same_replies(script: str, redis: WireClient, strata: WireClient) -> None:
    """Byte for byte, except for the order of replies to which Redis gives none."""
    for call in parse(script):
        expected, found = redis.send(*call), strata.send(*call)
        assert _comparable(call, found) == _comparable(call, expected), call


def _comparable(call: list[bytes], reply: Reply) -> bytes | list[Frame]:
    if call[0] in _UNORDERED and reply.frame.items is not None:
        return sorted(reply.frame.items, key=lambda frame: frame.data or b"")
    return reply.raw
