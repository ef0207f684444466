"""The stored texts, and nothing that talks to a server.

    x100speed_hash_videoid                    video id -> status|image_count|ip|bitrate[,bitrate ...]
    x100speed_sortedset_{video id}_{bitrate}  score create_time, member
                                              fragment_id|hostname|storage_path|create_time|fps|frame_count|file_size
    x100speed_hash_staff                      ip -> load

Whatever is read is checked: a text that does not follow its line raises Malformed, which says where it
is stored, what it is, and what is wrong with it.
"""  # noqa: E501 - a stored line is shown as it is stored

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

VIDEOS_KEY = "x100speed_hash_videoid"
STAFF_KEY = "x100speed_hash_staff"

FULL_LOAD = 100.0
LOAD_PER_BITRATE = 5.0

_WHOLE = re.compile(r"[0-9]{1,15}")
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_VIDEO_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HOSTNAME = re.compile(r"https?://[^\s|/]+")
_PATH = re.compile(r"/[^\s|]*")


class Malformed(ValueError):
    """A text that is not in its format; `where` is its key, with the field if it has one."""

    def __init__(self, where: str, text: str, reason: str) -> None:
        super().__init__(f"{where}: {text!r}: {reason}")
        self.where, self.text, self.reason = where, text, reason


class Status(StrEnum):
    """What has become of a video."""

    PROCEED = "proceed"
    SUCCESS = "success"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Video:
    """The state of one video: `ip` is the host that transcodes it."""

    status: Status
    image_count: int
    ip: str
    bitrates: tuple[int, ...]

    @property
    def load(self) -> float:
        """What the video costs its host while it is transcoded."""
        return LOAD_PER_BITRATE * len(self.bitrates)

    def text(self) -> str:
        bitrates = ",".join(map(str, self.bitrates))
        return f"{self.status}|{self.image_count}|{self.ip}|{bitrates}"


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a transcoded video: a .ts file on a storage host."""

    fragment_id: str
    hostname: str
    storage_path: str
    create_time: int
    fps: float
    frame_count: int
    file_size: int

    @property
    def seconds(self) -> float:
        return self.frame_count / self.fps

    @property
    def url(self) -> str:
        return self.hostname + self.storage_path

    def text(self) -> str:
        numbers = f"{self.create_time}|{self.fps:.9g}|{self.frame_count}|{self.file_size}"
        return f"{self.fragment_id}|{self.hostname}|{self.storage_path}|{numbers}"


def fragments_key(video_id: str, bitrate: int) -> str:
    return f"x100speed_sortedset_{video_id}_{bitrate}"


def parse_video(where: str, text: str) -> Video:
    """Parse `status|image_count|ip|bitrates`."""
    status, images, ip, bitrates = _split(where, text, 4)
    if status not in list(Status):
        raise Malformed(where, text, f"status {status!r} is none of {', '.join(Status)}")
    image_count = _whole(where, text, "image_count", images)
    return Video(
        Status(status), image_count, _ip(where, text, ip), _bitrates(where, text, bitrates)
    )


def parse_fragment(where: str, text: str) -> Fragment:
    """Parse a member of the sorted set of fragments."""
    fragment_id, hostname, path, created, fps, frames, size = _split(where, text, 7)
    _matches(where, text, "fragment_id", fragment_id, _VIDEO_ID)
    _matches(where, text, "hostname", hostname, _HOSTNAME)
    _matches(where, text, "storage_path", path, _PATH)
    _matches(where, text, "fps", fps, _DECIMAL)
    if not float(fps):
        raise Malformed(where, text, "fps is 0")
    if not _whole(where, text, "frame_count", frames):
        raise Malformed(where, text, "frame_count is 0")
    return Fragment(
        fragment_id=fragment_id,
        hostname=hostname,
        storage_path=path,
        create_time=_whole(where, text, "create_time", created),
        fps=float(fps),
        frame_count=int(frames),
        file_size=_whole(where, text, "file_size", size),
    )


def parse_scored_fragment(key: str, text: str, score: float) -> Fragment:
    """Parse a member together with its score, which must be its create_time."""
    fragment = parse_fragment(key, text)
    if fragment.create_time != score:
        raise Malformed(key, text, f"create_time is not the score {score:.17g}")
    return fragment


def parse_load(where: str, text: str) -> float:
    """Parse the load of a host: a number that is finite and not negative."""
    _matches(where, text, "load", text, _DECIMAL)
    return float(text)


def format_load(load: float) -> str:
    """Write a load with what a person would: `0`, `90.5`; sums of decimals leave no tail."""
    if not math.isfinite(load) or load < 0:
        raise ValueError(f"{load} is no load")
    return f"{load:.9f}".rstrip("0").rstrip(".")


def parse_count(where: str, text: str) -> int:
    """Parse a whole number that is not negative."""
    return _whole(where, text, where, text)


def parse_rate(where: str, text: str) -> float:
    """Parse a decimal that is above 0."""
    _matches(where, text, where, text, _DECIMAL)
    if not float(text):
        raise Malformed(where, text, f"{where} is 0")
    return float(text)


def parse_video_id(text: str) -> str:
    """Check a video id that a person gives."""
    if not _VIDEO_ID.fullmatch(text):
        raise Malformed("video id", text, f"{text!r} is not 1 to 64 letters, digits, _ or -")
    return text


def parse_ip(text: str) -> str:
    """Check an address that a person gives."""
    return _ip("host", text, text)


def parse_bitrates(text: str) -> tuple[int, ...]:
    """Parse bitrates that a person gives, `200,400`."""
    return _bitrates("bitrates", text, text)


def least_loaded(loads: Mapping[str, float], cost: float) -> str | None:
    """The host with the lowest load that has room for `cost`; among equals the first by name."""
    free = [(load, ip) for ip, load in loads.items() if load + cost <= FULL_LOAD]
    return min(free)[1] if free else None


def _split(where: str, text: str, count: int) -> list[str]:
    parts = text.split("|")
    if len(parts) != count:
        raise Malformed(where, text, f"{len(parts)} parts instead of {count}")
    return parts


def _matches(where: str, text: str, name: str, part: str, pattern: re.Pattern[str]) -> None:
    if not pattern.fullmatch(part):
        raise Malformed(where, text, f"{name} {part!r} is not well-formed")


def _whole(where: str, text: str, name: str, part: str) -> int:
    _matches(where, text, name, part, _WHOLE)
    return int(part)


def _ip(where: str, text: str, part: str) -> str:
    try:
        ipaddress.ip_address(part)
    except ValueError:
        raise Malformed(where, text, f"ip {part!r} is not an address") from None
    return part


def _bitrates(where: str, text: str, part: str) -> tuple[int, ...]:
    bitrates = tuple(_whole(where, text, "bitrate", one) for one in part.split(","))
    if 0 in bitrates or len(set(bitrates)) < len(bitrates):
        raise Malformed(where, text, "bitrates must be different and not 0")
    return bitrates
