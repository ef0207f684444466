"""Bytes as people read and write them: escaped text, JSON, msgpack, sizes and times."""

import json
import re
from typing import Any, Final

import msgpack

SHOWN: Final = 400
_ESCAPES: Final = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x5C: "\\\\"}
_MEANT: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\"}
_ESCAPED = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.)|$)", re.DOTALL)


def escaped(raw: bytes) -> str:
    r"""Bytes in one line; `parse_escaped` gives them back. Text is itself, the rest is \x.."""
    return "".join(_shown(char) for char in raw.decode("utf-8", "surrogateescape"))


def _shown(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code in _ESCAPES:
        return _ESCAPES[code]
    if char == " " or char.isprintable():
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode())


def parse_escaped(text: str) -> bytes:
    """What `escaped` made of bytes; raises ValueError for a backslash that means nothing."""
    return _ESCAPED.sub(_meant, text.encode())


def _meant(found: re.Match[bytes]) -> bytes:
    if found[1]:
        return bytes.fromhex(found[1].decode())
    if found[2] not in _MEANT:
        raise ValueError("a backslash is written \\\\, a byte \\x and two digits")
    return _MEANT[found[2]]


def is_plain(raw: bytes) -> bool:
    """Whether it is text of some lines that a form gives back as it was."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return False
    return all(char in "\n\t" or char.isprintable() for char in text)


def is_texty(raw: bytes) -> bool:
    """Whether most of it can be read; a part may begin and end within a character."""
    shown = raw[:4096].decode("utf-8", "replace")
    odd = sum(char == "\ufffd" or not (char.isprintable() or char in "\n\r\t") for char in shown)
    return odd * 8 <= len(shown)


def short(raw: bytes, limit: int = SHOWN) -> str:
    """The beginning of bytes, escaped."""
    shown = escaped(raw[:limit])
    return shown if len(raw) <= limit else shown + "…"


def as_json(raw: bytes) -> str | None:
    """JSON in lines, if it is an object or an array of it."""
    if raw[:1] not in (b"{", b"["):
        return None
    try:
        return json.dumps(json.loads(raw), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def as_msgpack(raw: bytes) -> str | None:
    """What msgpack has packed, if it is a map or an array that fills the bytes."""
    if not raw or not (0x80 <= raw[0] <= 0x9F or 0xDC <= raw[0] <= 0xDF):
        return None
    try:
        value = msgpack.unpackb(raw, raw=False, strict_map_key=False, timestamp=0)
        return json.dumps(_plain(value), indent=2, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError, msgpack.exceptions.UnpackException):
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {_name(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return escaped(value)
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def _name(key: Any) -> str:
    return escaped(key) if isinstance(key, bytes) else str(key)


def hexadecimal(raw: bytes, start: int = 0) -> str:
    """Sixteen bytes a line: where, in digits, as text."""
    lines = []
    for at in range(0, len(raw), 16):
        row = raw[at : at + 16]
        digits = " ".join(f"{byte:02x}" for byte in row)
        text = "".join(chr(byte) if 32 <= byte < 127 else "·" for byte in row)
        lines.append(f"{start + at:08x}  {digits:<47}  {text}")
    return "\n".join(lines)


def size(number: float) -> str:
    """Bytes with a unit."""
    for unit in ("B", "KB", "MB", "GB"):
        if abs(number) < 1024:
            return (
                f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"
            )
        number /= 1024
    return f"{number:.1f} TB"


def duration(seconds: float) -> str:
    """Seconds in the two greatest units."""
    rest = int(seconds)
    parts = []
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        if rest >= length:
            parts.append(f"{rest // length} {unit}")
            rest %= length
    return " ".join(parts[:2]) or "0 s"


def lifetime(milliseconds: int | None) -> str:
    """What PTTL says, if it is known."""
    if milliseconds is None:
        return "?"
    if milliseconds == -1:
        return "no expiry"
    if milliseconds == -2:
        return "gone"
    return f"{milliseconds} ms" if milliseconds < 1000 else duration(milliseconds / 1000)
