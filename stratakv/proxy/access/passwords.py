"""Passwords: kept as the hexadecimal digits of their SHA-256, and compared in constant time."""

import hashlib
import re
from collections.abc import Iterable
from hmac import compare_digest
from typing import Final

_DIGEST: Final = re.compile(rb"[0-9a-f]{64}")
_NOBODYS: Final = (b"0" * 64,)
"""Compared with for a user that does not exist, so that it takes as long."""


def digest(password: bytes) -> bytes:
    """What is kept of a password."""
    return hashlib.sha256(password).hexdigest().encode()


def is_digest(text: bytes) -> bool:
    """Whether a text is what is kept of some password."""
    return _DIGEST.fullmatch(text) is not None


def is_one_of(password: bytes, digests: Iterable[bytes]) -> bool:
    """Whether a password is one of those; each is looked at, whatever the others were."""
    given = digest(password)
    found = False
    for known in digests or _NOBODYS:
        found |= compare_digest(given, known)
    return found
