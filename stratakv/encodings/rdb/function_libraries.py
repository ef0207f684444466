"""Libraries of functions: in the store, and as Redis's dump payloads.

"f#" | name -> code                           outside of all databases
"l#" | "t" | id | ":" | name -> code          the same of a tenant
payload = (0xf5 | string of the code) ... | footer          (see payloads.py)
"""

from collections.abc import Iterable, Iterator
from typing import Final

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.rdb import packed, payloads
from stratakv.encodings.rdb.parts import PayloadReader, encode_string
from stratakv.errors import CommandError
from stratakv.storage.contract import Reader

_LIBRARY: Final = 0xF5
_NAME: Final = b"name="


def prefix_of(tenant: int) -> bytes:
    """What the rows of the libraries of a tenant begin with, or of none."""
    if not tenant:
        return rows.LIBRARY
    return rows.TENANT_LIBRARY + rows.library_namespace(tenant)


def every(reader: Reader, tenant: int = 0) -> Iterator[bytes]:
    """The code of each library of a tenant, or of none, in the order of their names."""
    prefix = prefix_of(tenant)
    for _, code in reader.scan(prefix, rows.end_of(prefix)):
        yield code


def name_of(code: bytes) -> bytes | None:
    """The name that a library gives itself in its first line; None if it has none."""
    first, *words = code.split(b"\n", 1)[0].split() or (b"",)
    names = [word[len(_NAME) :] for word in words if word[: len(_NAME)].lower() == _NAME]
    return names[0] if first.startswith(b"#!") and names and names[0] else None


def save(txn: Txn, name: bytes, code: bytes) -> None:
    """Keep a library's code, in place of what the name stood for."""
    txn.put(_prefix_for(txn) + name, code)


def remove(txn: Txn, name: bytes) -> None:
    """Forget a library."""
    txn.delete(_prefix_for(txn) + name)


def _prefix_for(txn: Txn) -> bytes:
    return prefix_of(txn.db.index >> rows.TENANT_BITS)


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
