"""Parameters of a request, checked: whatever is wrong is a BadRequest that says what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from urllib.parse import parse_qsl

MACHINE = re.compile(r"[0-9a-f]{32}@[0-9]{1,5}")
LOGID = re.compile(r"[0-9]{10}")
_TS_FORMATS = {8: "%Y%m%d", 11: "%Y%m%d %H", 14: "%Y%m%d %H:%M", 17: "%Y%m%d %H:%M:%S"}
_TS_SHAPE = re.compile(r"[0-9]{8}( [0-9]{2}(:[0-9]{2}(:[0-9]{2})?)?)?")


class BadRequest(ValueError):
    """The client's mistake, in words for its author."""


def parse(encoded: str) -> dict[str, str]:
    """Parameters from a query string or a form; each may be given once."""
    try:
        pairs = parse_qsl(encoded, keep_blank_values=True, max_num_fields=20, errors="strict")
    except ValueError as wrong:
        raise BadRequest(f"parameters cannot be read: {wrong}") from wrong
    return merge([pairs])


def merge(groups: Iterable[Iterable[tuple[str, str]]]) -> dict[str, str]:
    """Parameters of several origins as one."""
    params: dict[str, str] = {}
    for group in groups:
        for name, value in group:
            if name in params:
                raise BadRequest(f"{name} is given twice")
            params[name] = value
    return params


def only(params: Mapping[str, str], *names: str) -> None:
    """Refuse parameters that nobody would read."""
    unknown = sorted(params.keys() - set(names))
    if unknown:
        raise BadRequest(f"unknown parameter {unknown[0]}; there are {', '.join(names)}")


def machine(params: Mapping[str, str]) -> str:
    """MD5(agent-hostname)@port."""
    return _matching(params, "machine", MACHINE, "an md5 in lower case, @ and a port")


def logid(params: Mapping[str, str]) -> str:
    """The ten digits of a log."""
    return _matching(params, "logid", LOGID, "ten digits")


def ts(params: Mapping[str, str]) -> str:
    """A time to the day, hour, minute or second: the beginning of the times asked for."""
    text = _matching(params, "ts", _TS_SHAPE, '"20151111", "20151111 14", or to :minute or :second')
    try:
        datetime.strptime(text, _TS_FORMATS[len(text)])
    except ValueError as wrong:
        raise BadRequest(f"ts is not a time: {text}") from wrong
    return text


def table(params: Mapping[str, str]) -> str:
    """Five-second rows (5s, the default) or one-minute sums (1m)."""
    text = params.get("table", "5s")
    if text not in ("5s", "1m"):
        raise BadRequest(f"table must be 5s or 1m, not {text!r}")
    return text


def _matching(params: Mapping[str, str], name: str, shape: re.Pattern[str], words: str) -> str:
    if name not in params:
        raise BadRequest(f"{name} is missing")
    if not shape.fullmatch(params[name]):
        raise BadRequest(f"{name} must be {words}, not {params[name]!r}")
    return params[name]
