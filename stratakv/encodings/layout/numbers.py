"""Numbers as Redis reads and prints them: integers, doubles, and x87 long doubles.

Redis does INCRBYFLOAT in the 80-bit `long double` of x86: 64 bits of mantissa, exponents up
to 16383. Its digits show in replies, so they are reproduced here with exact integers.
Parsers return None for text that is not such a number.
"""

import re
from decimal import Decimal
from typing import Final, NamedTuple

INT64_MIN: Final = -(1 << 63)
INT64_MAX: Final = (1 << 63) - 1

# 18 digits always fit an int64; 19 digits and a sign are the longest that may.
_SURELY_INT64_DIGITS: Final = 18
_LONGEST_INT64_TEXT: Final = 20

_DECIMAL = re.compile(rb"([+-]?)(?:([0-9]+)\.?([0-9]*)|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?")
_HEX = re.compile(
    rb"([+-]?)0[xX](?:([0-9a-fA-F]+)\.?([0-9a-fA-F]*)|\.([0-9a-fA-F]+))(?:[pP]([+-]?[0-9]+))?"
)
_INFINITY = re.compile(rb"([+-]?)inf(?:inity)?", re.IGNORECASE)

# A long double's mantissa has 64 bits; the last bit of the smallest number weighs 2**-16445.
_MANTISSA_BITS: Final = 64
_LEAST_EXPONENT: Final = -16445
_GREATEST_EXPONENT: Final = 16383 - 63
_INFINITE: Final = 1 << 30
# Redis refuses longer text: its buffer has 5 KiB with the closing NUL.
_LONGEST_LONG_DOUBLE_TEXT: Final = 5 * 1024 - 1
# Exponents beyond these are out of range whatever the digits are: there are at most 5 Ki.
_HOPELESS_EXPONENT: Final = 20_000
_HOPELESS_BINARY_EXPONENT: Final = 60_000
_DECIMALS: Final = 17
_SCALE: Final = 10**_DECIMALS


def parse_int(text: bytes) -> int | None:
    """Return the int64 that `text` is the canonical decimal form of, or None.

    Canonical: no `+`, no leading zeros, no `-0`, no blanks.
    """
    if text.isdigit():
        # 0.24 us where comparing with the printed number takes 0.28 (1 digit; 12: 0.30, 0.37).
        if len(text) <= _SURELY_INT64_DIGITS and (text[0] != 48 or len(text) == 1):
            return int(text)
    elif text[:1] != b"-" or not text[1:].isdigit():
        return None
    return _parse_long_int(text)


def _parse_long_int(text: bytes) -> int | None:
    """As parse_int; requires an optional `-` and then digits only."""
    if len(text) > _LONGEST_INT64_TEXT:
        return None
    value = int(text)
    if INT64_MIN <= value <= INT64_MAX and b"%d" % value == text:
        return value
    return None


def parse_float(text: bytes) -> float | None:
    """Return the double that a score or a float argument means, or None.

    Decimal and hexadecimal forms and infinities are numbers; NaN, blanks, and what
    overflows to infinity or underflows to zero are not.
    """
    if match := _DECIMAL.fullmatch(text):
        value = float(text)
        return None if _left_the_range(value, match) else value
    if match := _HEX.fullmatch(text):
        return _parse_hex_float(text, match)
    if match := _INFINITY.fullmatch(text):
        return float("-inf") if match[1] == b"-" else float("inf")
    return None


def _parse_hex_float(text: bytes, match: re.Match[bytes]) -> float | None:
    try:
        value = float.fromhex(text.decode("ascii"))
    except OverflowError:
        return None
    return None if _left_the_range(value, match) else value


def _left_the_range(value: float, match: re.Match[bytes]) -> bool:
    """Tell whether finite text became infinite, or text that is not zero became zero."""
    if value == 0.0:
        return any(digits and digits.strip(b"0") for digits in match.group(2, 3, 4))
    return value in (float("inf"), float("-inf"))


def format_float(value: float) -> bytes:
    """Return a double as replies print it, in RESP2 and after the `,` of RESP3 alike."""
    return b"%.17g" % value


class LongDouble(NamedTuple):
    """The number mantissa * 2**exponent, with abs(mantissa) < 2**64; or an infinity.

    The sign of zero is not kept: Redis never prints it.
    """

    mantissa: int
    exponent: int

    @property
    def is_infinite(self) -> bool:
        """Whether this is one of the two infinities; its mantissa is then the sign."""
        return self.exponent == _INFINITE


_ZERO: Final = LongDouble(0, 0)


def parse_long_double(text: bytes) -> LongDouble | None:
    """Return the long double nearest to `text`, or None if Redis would refuse it.

    Infinities are accepted, as Redis does; their sum with anything is refused later.
    """
    if len(text) > _LONGEST_LONG_DOUBLE_TEXT:
        return None
    if match := _DECIMAL.fullmatch(text):
        return _parse_decimal(match)
    if match := _HEX.fullmatch(text):
        return _parse_hex(match)
    if match := _INFINITY.fullmatch(text):
        return LongDouble(-1 if match[1] == b"-" else 1, _INFINITE)
    return None


def add_long_doubles(left: LongDouble, right: LongDouble) -> LongDouble | None:
    """Return the rounded sum, or None if it is NaN or an infinity."""
    if left.is_infinite or right.is_infinite:
        return None
    exponent = min(left.exponent, right.exponent)
    total = (left.mantissa << (left.exponent - exponent)) + (
        right.mantissa << (right.exponent - exponent)
    )
    return _round_to_long_double(total, 1, exponent)


def format_long_double(value: LongDouble) -> bytes:
    """Return the number with at most 17 decimals, never in exponent form.

    Requires a finite value.
    """
    scaled = _round_quotient(*_ratio(abs(value.mantissa) * _SCALE, 1, value.exponent))
    # Decimal prints integers of any length; str(int) stops at 4300 digits.
    digits = str(Decimal(scaled)).rjust(_DECIMALS + 1, "0")
    text = f"{digits[:-_DECIMALS]}.{digits[-_DECIMALS:]}".rstrip("0").rstrip(".")
    negative = value.mantissa < 0 and scaled != 0
    return (f"-{text}" if negative else text).encode("ascii")


def _parse_decimal(match: re.Match[bytes]) -> LongDouble | None:
    digits, fraction_length = _digits_of(match)
    if not digits:
        return _ZERO
    exponent = _clamp(match[5], _HOPELESS_EXPONENT) - fraction_length
    # Decimal reads digits of any length; int() stops at 4300 digits.
    number = int(Decimal(digits)) * (-1 if match[1] == b"-" else 1)
    if exponent >= 0:
        return _nonzero(_round_to_long_double(number * 10**exponent, 1, 0))
    return _nonzero(_round_to_long_double(number, 10**-exponent, 0))


def _parse_hex(match: re.Match[bytes]) -> LongDouble | None:
    digits, fraction_length = _digits_of(match)
    if not digits:
        return _ZERO
    exponent = _clamp(match[5], _HOPELESS_BINARY_EXPONENT) - 4 * fraction_length
    number = int(digits, 16) * (-1 if match[1] == b"-" else 1)
    return _nonzero(_round_to_long_double(number, 1, exponent))


def _digits_of(match: re.Match[bytes]) -> tuple[str, int]:
    """Return the digits without leading zeros, and how many of them follow the point."""
    whole, fraction = match[2] or b"", match[3] or match[4] or b""
    return (whole + fraction).lstrip(b"0").decode("ascii"), len(fraction)


def _clamp(exponent: bytes | None, limit: int) -> int:
    """Return the exponent, cut to +-limit: a longer one decides by itself, unread."""
    if not exponent:
        return 0
    digits = exponent.lstrip(b"+-").lstrip(b"0")
    magnitude = limit if len(digits) > 6 else min(int(digits or b"0"), limit)
    return -magnitude if exponent[:1] == b"-" else magnitude


def _nonzero(value: LongDouble | None) -> LongDouble | None:
    """Refuse an underflow to zero, as Redis does for what it parses."""
    return value if value is None or value.mantissa else None


def _round_to_long_double(top: int, bottom: int, exponent: int) -> LongDouble | None:
    """Round top / bottom * 2**exponent to nearest, ties to even; None if it overflows."""
    magnitude = abs(top)
    if bottom == 1 and magnitude < 1 << _MANTISSA_BITS and exponent >= _LEAST_EXPONENT:
        mantissa, last_bit = magnitude, exponent
    else:
        last_bit = _last_bit(magnitude, bottom, exponent)
        mantissa = _round_quotient(*_ratio(magnitude, bottom, exponent - last_bit))
    if mantissa.bit_length() + last_bit > _MANTISSA_BITS + _GREATEST_EXPONENT:
        return None
    if mantissa >> _MANTISSA_BITS:
        mantissa, last_bit = mantissa >> 1, last_bit + 1
    return LongDouble(-mantissa if top < 0 else mantissa, last_bit)


def _last_bit(top: int, bottom: int, exponent: int) -> int:
    """Return the weight of the mantissa's last bit for top / bottom * 2**exponent."""
    length = top.bit_length() - bottom.bit_length()
    shifted_top, shifted_bottom = _ratio(top, bottom, -length)
    if shifted_top < shifted_bottom:
        length -= 1
    return max(length + exponent - (_MANTISSA_BITS - 1), _LEAST_EXPONENT)


def _ratio(top: int, bottom: int, exponent: int) -> tuple[int, int]:
    """Return top / bottom * 2**exponent as a pair of integers."""
    if exponent >= 0:
        return top << exponent, bottom
    return top, bottom << -exponent


def _round_quotient(top: int, bottom: int) -> int:
    """Divide to nearest, ties to even. Requires top >= 0 and bottom > 0."""
    quotient, rest = divmod(top, bottom)
    twice = rest * 2
    if twice > bottom or (twice == bottom and quotient & 1):
        return quotient + 1
    return quotient
