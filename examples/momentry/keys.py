"""The names of the keys and how long they live, after the prefix that keeps installations apart."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

PREFIX_VARIABLE = "MOMENTRY_REDIS_PREFIX"
DEFAULT_PREFIX = "momentry:"

HEALTH_TTL_S = 60
CURRENT_TTL_S = 10
HISTORY_TTL_S = 3600
JOB_TTL_S = 24 * 3600
TODAY_TTL_S = 86400
HISTORY_LENGTH = 100


def prefix_from_environment() -> str:
    return os.environ.get(PREFIX_VARIABLE) or DEFAULT_PREFIX


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one installation: `momentry:` in production, `momentry_dev:` in development."""

    prefix: str = DEFAULT_PREFIX

    def key(self, name: str) -> str:
        """A key of the whole installation, such as `health:current` or `stats:total_jobs`."""
        return self.prefix + name

    def jobs(self, group: str) -> str:
        return f"{self.prefix}jobs:{group}"

    def job(self, uuid: str) -> str:
        return f"{self.prefix}job:{uuid}"

    def processor(self, uuid: str, name: str) -> str:
        return f"{self.prefix}job:{uuid}:processor:{name}"

    def metrics(self, uuid: str, metric: str) -> str:
        return f"{self.prefix}metrics:{uuid}:{metric}"

    def result(self, uuid: str) -> str:
        return f"{self.prefix}result:{uuid}"

    def output(self, uuid: str) -> str:
        return f"{self.prefix}output:{uuid}"

    def log(self, uuid: str) -> str:
        return f"{self.prefix}log:{uuid}"

    def progress(self, uuid: str) -> str:
        """The channel of a job's messages."""
        return f"{self.prefix}progress:{uuid}"

    def progress_pattern(self) -> str:
        """Matches the channels of all jobs of this installation, and of no other."""
        return re.sub(r"([\[\]*?^\\])", r"\\\1", self.prefix) + "progress:*"

    def uuid_of(self, channel: str) -> str:
        return channel.removeprefix(f"{self.prefix}progress:")
