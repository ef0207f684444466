"""The words that command templates draw their arguments from.

Small on purpose: few keys make commands meet on the same key with the wrong type, few members make
them meet on the same member. Three things are kept out, because two correct servers may differ on
them: a time to live that can end during an example, a count that asks for an endless random reply,
and an offset that asks for hundreds of megabytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Of the words drawn, one in ODD_SHARE + 1 is an odd one: a command of three odd arguments is nearly
# always just an error.
ODD_SHARE = 7


@dataclass(frozen=True, slots=True)
class Alphabet:
    """Words that a command usually accepts, and odd ones that it usually refuses."""

    usual: tuple[bytes, ...]
    odd: tuple[bytes, ...] = ()

    def weighted(self) -> list[bytes]:
        """The words, the usual ones repeated until the odd ones are rare. The first is the
        simplest.
        """
        repeat = max(1, -(-ODD_SHARE * len(self.odd) // len(self.usual)))
        return [*self.usual * repeat, *self.odd]


def words(usual: str, odd: str = "", *more_odd: bytes) -> Alphabet:
    """An alphabet from space-separated words; bytes that cannot be written so come as further
    arguments.
    """
    return Alphabet(tuple(usual.encode().split()), (*odd.encode().split(), *more_odd))


BINARY = b"\x00\xff\r\n"
LONG = "a-member-of-more-than-fifteen-bytes"
MAX, MIN = "9223372036854775807", "-9223372036854775808"
_EDGES = f"{MAX} {MIN}"
_NOT_NUMBERS = (b"", b" 1", b"1 ", b"abc", b"nan", b"0x10")
_MEMBERS = Alphabet(
    (*f"a b c 1 2 3 exactly-15-byte {LONG} 10 -1 1.5".encode().split(), b"", BINARY)
)

# Dumps of redis-server 7.0.15: two strings, a list, a hash, two sets, a sorted set, an LZF string.
_PAYLOADS = (
    b"\x00\x05hello\n\x00cr\xdfve4 \n",
    b"\x00\xc190\n\x00\x9d\x94\xea'\x93\xfc\x08\xb9",
    b'\x12\x01\x02\x0f\x0f\x00\x00\x00\x03\x00\x81a\x02\x81b\x02\x01\x01\xff\n\x00\xe0\x1b\xabJG\xceY"',
    b"\x10\x14\x14\x00\x00\x00\x04\x00\x82f1\x03\x81v\x02\x82f2\x03\x02\x01\xff"
    b"\n\x00B*\x92\xaf\xf9\xe0W\xae",
    b"\x0b\x0e\x02\x00\x00\x00\x03\x00\x00\x00\x01\x00\x02\x00\x03\x00\n\x00\xa5\x02\\\xe2mnM\x1b",
    b"\x02\x02\x01b\x01a\n\x00u\xd9\x9d\x83^\xf8_e",
    b"\x11\x14\x14\x00\x00\x00\x04\x00\x81a\x02\x01\x01\x81b\x02\x832.5\x04\xff"
    b"\n\x00\xd4Ln\xa4\xf6D\xd9\xd7",
    b"\x00\xc3\n@P\x02aba\xe0B\x01\x01ab\n\x00\x94\x9d_\x0e\xb1\xde\xa4E",
)

ALPHABETS: Final[dict[str, Alphabet]] = {
    "key": words("k1 k2 k3 k4 k5 k6"),
    "newkey": words("k1 k2 k3", "", b"\x00k", b""),
    "value": Alphabet(
        (
            *b"a 10 hello -5 3.14 inf 007 1e3 foobar".split(),
            *[b"", b"hello world", BINARY, MAX.encode(), MIN.encode(), b"x" * 50, b" 1"],
        )
    ),
    "int": words(
        "1 0 -1 5 100 -7", f"{_EDGES} 9223372036854775808 +5 1.5 -0 1e3 01", *_NOT_NUMBERS
    ),
    "float": words(
        "1 0.1 -1.5 3.0e3 100 0 2.25 1e17 -0.3",
        "-0 inf -inf 1e400 +5 5e-324 1.7976931348623157e308 1e-7 infinity",
        *_NOT_NUMBERS,
    ),
    "member": _MEMBERS,
    "field": Alphabet((*f"f1 f2 f3 exactly-15-byte {LONG}".encode().split(), b"", BINARY)),
    "score": words(
        "1 2 3 0 -1 1.5 inf -inf +inf 0.1 1e17 -0 1e-5 3.0",
        "1e400 +5 5e-324 123456789012345678",
        *_NOT_NUMBERS,
    ),
    "bound": words(
        "1 2 3 -inf +inf (1 (2 -1 (-inf (inf 1.5", "-0 1e400 (abc ( 1( [1", *_NOT_NUMBERS
    ),
    "lex": Alphabet(
        (*b"- + [a (a [b (c [1 (2 [exactly-15-byte [ (".split(), b"[" + BINARY),
        (b"a", b"", b"+a", b"-inf", b"1"),
    ),
    "index": words("0 1 -1 2 -2 3 -100 100", f"abc 1.5 +1 {_EDGES}", b""),
    "count": words("1 2 3 100", "0 -1 abc 1.5", b""),
    "rcount": words("1 2 0 -1 -3 5 100", f"abc {_EDGES}", b""),
    "numkeys": words("2", "1 3 0 -1 abc 100"),
    "weight": words("1 2 0 -1 0.5 inf -inf", "nan abc", b""),
    "limit": words("0 1 2 -1 100", "-2 abc", b""),
    "seconds": words(
        "1000 5000 100000", f"0 -1 abc 1.5 9223372036854775 9223372036854776 {_EDGES}", b""
    ),
    "millis": words("1000000 5000000 100000000", f"0 -1 abc 1.5 {_EDGES}", b""),
    "at": words(
        "5000000000 6000000000", f"1 0 -1 abc 9223372036854775 9223372036854776 {_EDGES}", b""
    ),
    "atms": words("5000000000000 6000000000000", f"1 0 -1 abc {_EDGES}", b""),
    "offset": words("0 1 5 20", f"-1 536870912 536870911x abc {MAX}", b""),
    "bitoffset": words("0 1 7 8 100 3", "-1 4294967296 abc +1 01", b""),
    "bit": words("0 1", "2 -1 abc", b""),
    "bitfieldtype": words("u8 i8 u1 i5 u63 i64 u16", "u64 i65 u0 i0 x8 i 8 I8 u08", b""),
    "bitfieldoffset": words("0 1 #1 #2 7 100", "-1 #-1 abc 4294967296 #", b""),
    "pattern": words(
        "* k* k[1-3] k? f? [^a] a* [a-c] *1* ??", r"\* k[ k\1 [z-a]* **", b"", b"*\xff*"
    ),
    "by": words("nosort k* k*->f1 missing* k*->f2", "* k*-> ->f1 k*->f*", b""),
    "get": words("# k* k*->f1 missing* k*->f2", "* nostar k*->", b""),
    "longitude": words("13.361389 15.087269 -70 179.99 -180 0 13.5", "181 abc inf", b""),
    "latitude": words("38.115556 37.502669 -20.5 84.9 -85.05 0 1e-7", "86 abc -inf", b""),
    "payload": Alphabet(_PAYLOADS, (b"", b"short", _PAYLOADS[0][:-1] + b"x")),
    "radius": words("0 1 200 3000 12000 0.5 400", "-1 abc inf nan", b""),
    "unit": words("km m MI ft", "yards", b""),
    "db": words("0 1 2", "16 -1 abc 15x 1.0", b""),
    "type": words("string hash set zset", "list stream nosuch HASH"),
    "streamid": words(
        "1-1 1-2 2 2-5 3-3 4-* 5-5 6 7-7 8-1 9",
        "0 0-0 - + abc 1- 18446744073709551615-18446744073709551615 1-*x 18446744073709551616",
        b"",
    ),
    "interval": words("- + 1-1 2 3-3 5 (2-5 (4 9", "(- ( abc $ 18446744073709551616", b""),
    "group": words("g h", "nosuch", b"n\x00o"),
    "consumer": words("a b c"),
    "cursor": words("0", "abc -1 18446744073709551616 0x1", b"", b" 0"),
    "script": Alphabet(
        (
            b"return redis.call(unpack(ARGV))",
            b"return {redis.pcall(unpack(ARGV)), 'x', 1}",
            b"local r = redis.pcall(unpack(ARGV)) return {type(r), r, r}",
            b"redis.setresp(3) return redis.call(unpack(ARGV))",
            b"return cjson.encode(redis.call(unpack(ARGV)))",
            b"return cmsgpack.pack(redis.call(unpack(ARGV)))",
            b"local ok, r = pcall(redis.call, unpack(ARGV)) return {ok, r}",
            b"return {KEYS, ARGV}",
        ),
        (
            b"return 1",
            b"return x",
            b"x =",
            b"#!lua flags=no-writes\nreturn redis.call(unpack(ARGV))",
        ),
    ),
    "library": Alphabet(
        (
            b"#!lua name=one\nredis.register_function('calls', function(keys, args)"
            b" return {keys, redis.call(unpack(args))} end)",
        ),
        (b"#!lua name=two\nredis.register_function('calls', 1)", b"#!lua name=two\nx x"),
    ),
    "scancount": words("1 10 1000", "0 -1 abc"),
}
JUNK: Final = (*b"abc 0 -1 100000 k1 NX LIMIT WITHSCORES GET nan (1".split(), b"", b"\x00")
