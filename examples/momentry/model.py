"""Jobs, processors and messages, to and from what is stored and sent, without a server.

A text that is not as it should be raises Malformed, which names the key or channel it came from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

PROCESSORS = ("yolo", "ocr", "face", "pose", "cut", "asr", "asrx")

_WHOLE = re.compile(r"[0-9]{1,15}")
_MAX_WHOLE = 10**15


class Malformed(ValueError):
    """Something that is not in its format; `where` is its key or channel."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.where, self.reason = where, reason


class Status(StrEnum):
    """Of a job or a processor."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


# The set that lists the jobs of each status.
GROUPS = {Status.RUNNING: "active", Status.COMPLETED: "completed", Status.FAILED: "failed"}


class Kind(StrEnum):
    """The type of a message."""

    INFO = "info"
    PROGRESS = "progress"
    COMPLETE = "complete"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Processor:
    """One processor's work on one video."""

    name: str
    status: Status
    current_frame: int
    total_frames: int
    started_at: int
    updated_at: int

    @property
    def progress(self) -> int:
        return percent(self.current_frame, self.total_frames)

    def fields(self) -> dict[str, str | int]:
        """The hash, in the document's order."""
        return {
            "name": self.name,
            "status": self.status,
            "progress": self.progress,
            "current_frame": self.current_frame,
            "total_frames": self.total_frames,
            "started_at": self.started_at,
            "updated_at": self.updated_at,
        }

    def strings(self) -> dict[str, str | int]:
        """The same, as single keys below the hash's own."""
        return {
            "status": self.status,
            "progress": self.progress,
            "current": self.current_frame,
            "total": self.total_frames,
            "started_at": self.started_at,
        }


@dataclass(frozen=True, slots=True)
class Job:
    """A video on its way through the processors; both kinds of progress are percentages."""

    uuid: str
    video_path: str
    status: Status
    current_processor: str
    progress_total: int
    progress_current: int
    started_at: int
    updated_at: int
    error_count: int = 0
    last_error: str = ""

    def fields(self) -> dict[str, str | int]:
        """The hash, in the document's order."""
        return {
            "uuid": self.uuid,
            "video_path": self.video_path,
            "status": self.status,
            "current_processor": self.current_processor,
            "progress_total": self.progress_total,
            "progress_current": self.progress_current,
            "started_at": self.started_at,
            "updated_at": self.updated_at,
            "error_count": self.error_count,
            "last_error": self.last_error,
        }

    def at(self, processor: str, progress: int, now: int) -> Job:
        """The job while `processor` is at `progress` percent."""
        return replace(
            self,
            current_processor=processor,
            progress_total=total_progress(processor, progress),
            progress_current=progress,
            updated_at=now,
        )

    def failed(self, reason: str, now: int) -> Job:
        """The job after an error that ended it."""
        errors = self.error_count + 1
        return replace(
            self, status=Status.FAILED, error_count=errors, last_error=reason, updated_at=now
        )


@dataclass(frozen=True, slots=True)
class Message:
    """What is published on a job's channel."""

    kind: Kind
    processor: str
    timestamp: int
    text: str
    current: int
    total: int

    def json(self) -> str:
        data = {"message": self.text, "current": self.current, "total": self.total}
        return json.dumps(
            {
                "type": self.kind,
                "processor": self.processor,
                "timestamp": self.timestamp,
                "data": data,
            },
            ensure_ascii=False,
        )


def percent(current: int, total: int) -> int:
    """`current` of `total` in whole percent; 100 only when all is done."""
    if current >= total:
        return 100
    return min(99, round(100 * current / total))


def total_progress(processor: str, progress: int) -> int:
    """The progress of a job whose `processor` is at `progress` percent; all weigh the same."""
    before = PROCESSORS.index(processor)
    return (100 * before + progress) // len(PROCESSORS)


def parse_job(where: str, fields: Mapping[str, str]) -> Job:
    """Parse a job's hash."""
    return Job(
        uuid=_field(where, fields, "uuid"),
        video_path=_field(where, fields, "video_path"),
        status=_status(where, fields),
        current_processor=_processor(where, _field(where, fields, "current_processor")),
        progress_total=_percentage(where, fields, "progress_total"),
        progress_current=_percentage(where, fields, "progress_current"),
        started_at=_whole(where, fields, "started_at"),
        updated_at=_whole(where, fields, "updated_at"),
        error_count=_whole(where, fields, "error_count"),
        last_error=_field(where, fields, "last_error"),
    )


def parse_processor(where: str, fields: Mapping[str, str]) -> Processor:
    """Parse a processor's hash."""
    return Processor(
        name=_processor(where, _field(where, fields, "name")),
        status=_status(where, fields),
        current_frame=_whole(where, fields, "current_frame"),
        total_frames=_whole(where, fields, "total_frames"),
        started_at=_whole(where, fields, "started_at"),
        updated_at=_whole(where, fields, "updated_at"),
    )


def parse_message(channel: str, text: str) -> Message:
    """Parse what came over a channel."""
    try:
        top = json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed(channel, "not JSON") from None
    top = _object(channel, "the message", top)
    data = _object(channel, "data", top.get("data"))
    kind = top.get("type")
    if kind not in list(Kind):
        raise Malformed(channel, f"type {kind!r} is none of {', '.join(Kind)}")
    message = data.get("message")
    if not isinstance(message, str):
        raise Malformed(channel, f"message {message!r} is not a text")
    return Message(
        kind=Kind(kind),
        processor=_processor(channel, top.get("processor")),
        timestamp=_number(channel, top, "timestamp"),
        text=message,
        current=_number(channel, data, "current"),
        total=_number(channel, data, "total"),
    )


def _field(where: str, fields: Mapping[str, str], name: str) -> str:
    if name not in fields:
        raise Malformed(where, f"no field {name}")
    return fields[name]


def _whole(where: str, fields: Mapping[str, str], name: str) -> int:
    text = _field(where, fields, name)
    if not _WHOLE.fullmatch(text):
        raise Malformed(where, f"{name} {text!r} is not a whole number")
    return int(text)


def _percentage(where: str, fields: Mapping[str, str], name: str) -> int:
    number = _whole(where, fields, name)
    if number > 100:
        raise Malformed(where, f"{name} {number} is above 100")
    return number


def _status(where: str, fields: Mapping[str, str]) -> Status:
    text = _field(where, fields, "status")
    if text not in list(Status):
        raise Malformed(where, f"status {text!r} is none of {', '.join(Status)}")
    return Status(text)


def _processor(where: str, name: object) -> str:
    if not isinstance(name, str) or name not in PROCESSORS:
        raise Malformed(where, f"processor {name!r} is none of {', '.join(PROCESSORS)}")
    return name


def _object(where: str, name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Malformed(where, f"{name} is not an object")
    return value


def _number(where: str, values: Mapping[str, Any], name: str) -> int:
    number = values.get(name)
    if type(number) is not int or not 0 <= number <= _MAX_WHOLE:
        raise Malformed(where, f"{name} {number!r} is not a whole number")
    return number
