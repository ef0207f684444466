"""Libraries of functions: in the store, and as Redis's dump payloads.

"f#" | name -> code                           outside of all databases
payload = (0xf5 | string of the code) ... | footer          (see payloads.py)
"""

from collections.abc import Iterable, Iterator
from typing import Final

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.rdb import packed, payloads
from stratakv.encodings.rdb.parts import PayloadReader, encode_string
from stratakv.errors import CommandError
from stratakv.storage.store import Store

_LIBRARY: Final = 0xF5
_NAME: Final = b"name="


def every(store: Store) -> Iterator[bytes]:
    """The code of each library, in the order of their names."""
    for _, code in store.scan(rows.LIBRARY, rows.end_of(rows.LIBRARY)):
        yield code


def name_of(code: bytes) -> bytes | None:
    """The name that a library gives itself in its first line; None if it has none."""
    first, *words = code.split(b"\n", 1)[0].split() or (b"",)
    names = [word[len(_NAME) :] for word in words if word[: len(_NAME)].lower() == _NAME]
    return names[0] if first.startswith(b"#!") and names and names[0] else None


def save(txn: Txn, name: bytes, code: bytes) -> None:
    """Keep a library's code, in place of what the name stood for."""
    txn.put(rows.LIBRARY + name, code)


def remove(txn: Txn, name: bytes) -> None:
    """Forget a library."""
    txn.delete(rows.LIBRARY + name)


def dump(txn: Txn, codes: Iterable[bytes]) -> bytes:
    """The payload of FUNCTION DUMP."""
    payload = bytearray()
    for code in codes:
        payload.append(_LIBRARY)
        payload += encode_string(code)
    return bytes(payloads.seal(payload, txn.pause_if_due))


def parse(txn: Txn, payload: bytes) -> list[bytes]:
    """The codes of a payload; raises where it is none."""
    payloads.check(payload, txn.pause_if_due)
    end = len(payload) - payloads.FOOTER_BYTES
    reader = PayloadReader(payload[:end], txn.keyspace.limits.string_bytes, txn.pause_if_due)
    codes = []
    try:
        while reader.position < end:
            if reader.byte() != _LIBRARY:
                raise CommandError(b"ERR given type is not a function")
            codes.append(reader.string())
    except packed.Malformed:
        raise CommandError(b"ERR failed loading the given functions payload") from None
    return codes
