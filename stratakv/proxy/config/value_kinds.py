"""The kinds of values that CONFIG SET takes: each reads a text, or refuses it in Redis's words."""

from collections.abc import Callable
from typing import Any, Final

from stratakv import options as declared_options
from stratakv.encodings.layout.numbers import parse_float, parse_int
from stratakv.options import ENDING_WORDS, BadOption, parse_size

INT_MAX: Final = (1 << 31) - 1
LONG_MAX: Final = (1 << 63) - 1


class Refused(Exception):
    """A value that a setting does not take; the text is Redis's reason."""


Parse = Callable[[str], Any]


def integer(low: int, high: int) -> Parse:
    """Whole numbers of a range."""

    def parse(text: str) -> int:
        number = parse_int(text.encode("latin-1"))
        if number is None:
            raise Refused("argument couldn't be parsed into an integer")
        return _within(number, low, high)

    return parse


def memory(low: int, high: int = LONG_MAX) -> Parse:
    """Sizes such as 64kb."""

    def parse(text: str) -> int:
        try:
            number = parse_size(text)
        except ValueError:
            raise Refused("argument must be a memory value") from None
        return _within(number, low, high)

    return parse


def memory_or_percent(text: str) -> str:
    """A size, or a share of a size such as 5%."""
    share = parse_int(text[:-1].encode("latin-1")) if text.endswith("%") else None
    if share is not None and share >= 0:
        if share > 100:
            raise Refused("percentage argument must be less or equal to 100")
        return f"{share}%"
    try:
        return str(memory(0)(text))
    except Refused:
        raise Refused("argument must be a memory or percent value") from None


def _within(number: int, low: int, high: int) -> int:
    if not low <= number <= high:
        raise Refused(f"argument must be between {low} and {high} inclusive")
    return number


def yes_no(text: str) -> str:
    """`yes` or `no`."""
    if text.lower() not in ("yes", "no"):
        raise Refused("argument must be 'yes' or 'no'")
    return text.lower()


def one_of(*words: str) -> Parse:
    """One of some words."""

    def parse(text: str) -> str:
        if text.lower() not in words:
            raise Refused(f"argument(s) must be one of the following: {', '.join(words)}")
        return text.lower()

    return parse


def dump_name(text: str) -> str:
    """The name of a file."""
    if not text or "/" in text or text in (".", ".."):
        raise Refused("dbfilename can't be a path, just a filename")
    return text


def endings(text: str) -> str:
    """What SHUTDOWN would be told, in Redis's order; `default` stands for none of the others."""
    one = one_of(*ENDING_WORDS)
    words = {one(word) for word in text.split() or [""]}
    if {"save", "nosave"} <= words:
        raise Refused("shutdown options SAVE and NOSAVE can't be used simultaneously")
    shown = [word for word in ENDING_WORDS[1:] if word in words]
    return " ".join(shown) or ENDING_WORDS[0]


def oom_score_adj(text: str) -> str:
    """Two of the words are the same, and the first of them is shown."""
    word = one_of("no", "yes", "relative", "absolute")(text)
    return "yes" if word == "relative" else word


def oom_scores(text: str) -> str:
    """Three numbers for oom_score_adj."""
    words = text.split()
    if len(words) != 3:
        raise Refused("wrong number of arguments")
    scores = [parse_int(word.encode("latin-1")) for word in words]
    if any(score is None or not -2000 <= score <= 2000 for score in scores):
        reason = "Invalid oom-score-adj-values, elements must be between -2000 and 2000."
        raise Refused(reason)
    return " ".join(map(str, scores))


def save_points(text: str) -> str:
    """Pairs of seconds and changes."""
    words = text.split(" ") if text else []
    numbers = [parse_int(word.encode("latin-1")) for word in words]
    lows = (1, 0) * (len(numbers) // 2)
    if len(numbers) % 2 or any(n is None or n < low for n, low in zip(numbers, lows, strict=False)):
        raise Refused("Invalid save parameters")
    return " ".join(map(str, numbers))


def percentiles(text: str) -> str:
    """Numbers from 0 to 100."""
    name = "latency-tracking-info-percentiles"
    shares = [parse_float(word.encode("latin-1")) for word in text.split()]
    if None in shares:
        raise Refused(f"Invalid {name} parameters")
    if any(share is not None and not 0 <= share <= 100 for share in shares):
        raise Refused(f"{name} parameters should sit between [0.0,100.0]")
    return " ".join(f"{share:g}" for share in shares)


def event_classes(text: str) -> frozenset[str]:
    """The letters of notify-keyspace-events."""
    try:
        classes: frozenset[str] = declared_options.parse("notify-keyspace-events", text)
    except BadOption:
        reason = "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."
        raise Refused(reason) from None
    return classes


_LIMIT_CLASSES: Final = ("normal", "slave", "pubsub")


def output_limits(text: str, current: str) -> str:
    """The limits with some classes changed; those not named stay as they are."""
    words = text.split()
    if len(words) % 4:
        raise Refused("Wrong number of arguments in buffer limit configuration.")
    kept = current.split()
    limits = {kept[at]: kept[at + 1 : at + 4] for at in range(0, len(kept), 4)}
    for at in range(0, len(words), 4):
        name = "slave" if words[at] == "replica" else words[at].lower()
        if name not in _LIMIT_CLASSES:
            raise Refused("Invalid client class specified in buffer limit configuration.")
        limits[name] = _parse_limit(words[at + 1 : at + 4])
    return " ".join(f"{name} {' '.join(limits.get(name, '000'))}" for name in _LIMIT_CLASSES)


def _parse_limit(words: list[str]) -> list[str]:
    try:
        hard, soft, seconds = parse_size(words[0]), parse_size(words[1]), int(words[2])
    except ValueError:
        seconds = -1
    if seconds < 0:
        reason = "Error in hard, soft or soft_seconds setting in buffer limit configuration."
        raise Refused(reason)
    return [str(hard), str(soft), str(seconds)]
