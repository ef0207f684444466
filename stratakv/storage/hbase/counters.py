"""What the client has done: kept where it happens, read by whoever shows it."""

from typing import Final

BUCKETS: Final = 40


class Counters:
    """Numbers that only rise, but for `waiting`."""

    __slots__ = (
        "buckets",
        "bytes_in",
        "bytes_out",
        "calls",
        "commits",
        "connects",
        "errors",
        "fenced",
        "forgotten",
        "gets",
        "in_doubt",
        "losses",
        "retries",
        "rows_read",
        "rows_written",
        "scans",
        "seconds",
        "snapshots",
        "snapshots_gone",
        "timeouts",
        "too_busy",
        "waiting",
    )

    def __init__(self) -> None:
        self.calls = 0
        self.waiting = 0
        """Calls that are not answered yet."""
        self.errors = 0
        """Answers that were exceptions."""
        self.timeouts = 0
        self.connects = 0
        self.losses = 0
        self.retries = 0
        self.too_busy = 0
        """Answers that asked for less."""
        self.forgotten = 0
        """Regions that were not where they were thought to be."""
        self.bytes_in = 0
        self.bytes_out = 0
        self.gets = 0
        self.scans = 0
        """Pages of ranges."""
        self.rows_read = 0
        self.commits = 0
        self.rows_written = 0
        self.fenced = 0
        self.in_doubt = 0
        """Commits that were asked for again since nobody knew whether they were done."""
        self.snapshots = 0
        self.snapshots_gone = 0
        self.seconds = 0.0
        self.buckets = [0] * BUCKETS
        """Answered calls by their time: bucket n holds those below 2**n microseconds."""

    def answered(self, seconds: float) -> None:
        """A call was answered after so long."""
        self.seconds += seconds
        self.buckets[min(int(seconds * 1e6).bit_length(), BUCKETS - 1)] += 1

    def as_dict(self) -> dict[str, int | float]:
        """All single numbers by name, in the order of their names."""
        names = (name for name in self.__slots__ if name != "buckets")
        return {name: getattr(self, name) for name in names}
