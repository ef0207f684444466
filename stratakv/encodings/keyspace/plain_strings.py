"""Which keys that are no longer cached are plain strings, so that SET need not look.

What SET has to know of the key that it replaces is whether there is one, of which type, and with
which expire-time: the rows and counts that change with it follow from that. To look it up in the
engine costs more than the write. So the cache of metas leaves a note of 8 to 16 bytes for each
short string without an expire-time that it lets go of.

Promises
1. A key that is noted is a short string without an expire-time, in the engine or on its way there,
   unless it is cached: whoever finds it in the cache believes that.
2. Whatever makes a noted key something else takes the note away before it is no longer cached.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stratakv.encodings.keyspace._key_set import KeySet

SHARE: Final = 8
"""One part of so many of the cache of metas, at the most, are notes."""


def make_notes(cache_bytes: int) -> "KeySet | None":
    """Notes by rows of metas; none in the plain build, which has nothing that takes so little."""
    try:
        from stratakv.encodings.keyspace._key_set import KeySet
    except ImportError:
        return None
    return KeySet(cache_bytes // SHARE)
