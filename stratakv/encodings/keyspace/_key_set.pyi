"""A set of keys in 8 to 16 bytes each; see _key_set.c."""

class KeySet:
    """Keys, by their hashes; `limit_bytes` bounds its memory."""

    def __new__(cls, limit_bytes: int, /) -> KeySet: ...
    def add(self, key: bytes, /) -> None:
        """Add a key, if there is room."""
    def discard(self, key: bytes, /) -> None:
        """Take a key out, if it is there."""
    def clear(self) -> None:
        """Take all out, and give their memory back."""
    def __contains__(self, key: object, /) -> bool: ...
    def __len__(self) -> int: ...
    @property
    def size_bytes(self) -> int:
        """The memory of its tables."""
