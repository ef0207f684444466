"""Requests out of bytes; see _split.c."""

def split(data: bytes, /) -> tuple[list[list[bytes]], int]:
    """The plain requests at the beginning of the data, and the bytes that they take."""
