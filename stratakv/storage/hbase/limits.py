"""How large things may be, and how long they may take."""

from dataclasses import dataclass
from typing import Final

from stratakv.storage.hbase.errors import TooLarge

MAX_ROW_BYTES: Final = 32_767
"""Of a row's name, the group's prefix included: HBase keeps its length in a signed short."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds.

    A regionserver handles a commit as a whole in its memory: one of 64 MB has killed a server with
    a heap of 1 GB. HBase itself refuses cells beyond 10 MiB (`hbase.server.keyvalue.maxsize`).
    """

    value_bytes: int = 10_000_000
    commit_bytes: int = 12_000_000
    """Of names and values: room for one value of the largest size with what belongs to it."""
    page_bytes: int = 2 << 20
    """Of a range that is read: about as much is in memory at a time, at least one row."""
    page_rows: int = 1_000
    gets: int = 1_000
    """Rows of one Multi."""
    parallel_scans: int = 64
    """Of single rows of a snapshot: HBase has no call for many of them."""
    frame_bytes: int = 256 << 20
    """An answer that claims to be longer is no answer."""
    unsent_bytes: int = 32 << 20
    """With so much unsent to a server, calls wait before they join."""
    call_seconds: float = 10.0
    """For one try. What is not answered by then is asked again, perhaps of another server."""
    patience_seconds: float = 90.0
    """For all tries: a regionserver that was killed leaves its regions for 40 to 50 seconds."""
    connect_seconds: float = 5.0

    def check_row(self, row: bytes) -> None:
        """Raises `TooLarge`."""
        if len(row) > MAX_ROW_BYTES:
            raise TooLarge(
                f"a row name of {len(row)} bytes: HBase takes at most {MAX_ROW_BYTES} "
                "(long members or fields of collections are part of the name)"
            )

    def check_value(self, size: int) -> None:
        """Raises `TooLarge`."""
        if size > self.value_bytes:
            raise TooLarge(f"a value of {size} bytes: with HBase at most {self.value_bytes}")

    def check_commit(self, size: int) -> None:
        """Raises `TooLarge`."""
        if size > self.commit_bytes:
            raise TooLarge(
                f"{size} bytes in one commit: with HBase at most {self.commit_bytes} are written "
                "at once, by one command or transaction"
            )


def patient_for(seconds: float) -> Limits:
    """Limits for whoever waits so long for an HBase that is away."""
    usual = Limits()
    return Limits(
        patience_seconds=seconds,
        call_seconds=min(usual.call_seconds, seconds / 2),
        connect_seconds=min(usual.connect_seconds, seconds / 2),
    )
