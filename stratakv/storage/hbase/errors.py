"""What can go wrong with an HBase, by what is to be done then.

HBase answers with the class name of a Java exception. `KINDS` is the one place that knows them.
"""

from enum import Enum
from typing import Final

from stratakv.errors import StoreUnavailable


class Kind(Enum):
    """What to do about an error."""

    ELSEWHERE = "the region is on another server"
    LATER = "not now"
    BUSY = "the server has too much to do"
    SCANNER = "the scanner is gone: begin it anew"
    FATAL = "no use in asking again"


KINDS: Final = {
    "NotServingRegionException": Kind.ELSEWHERE,
    "RegionMovedException": Kind.ELSEWHERE,
    "RegionServerStoppedException": Kind.ELSEWHERE,
    "RegionServerAbortedException": Kind.ELSEWHERE,
    "NoServerForRegionException": Kind.ELSEWHERE,
    "WrongRegionException": Kind.ELSEWHERE,
    "RegionOpeningException": Kind.LATER,
    "RegionInRecoveryException": Kind.LATER,
    "ServerNotRunningYetException": Kind.LATER,
    "PleaseHoldException": Kind.LATER,
    "MasterNotRunningException": Kind.LATER,
    "NotAllMetaRegionsOnlineException": Kind.LATER,
    "PleaseRestartMasterException": Kind.LATER,
    "MultiActionResultTooLarge": Kind.LATER,
    "RegionTooBusyException": Kind.BUSY,
    "CallQueueTooBigException": Kind.BUSY,
    "CallDroppedException": Kind.BUSY,
    "RpcThrottlingException": Kind.BUSY,
    "UnknownScannerException": Kind.SCANNER,
    "LeaseException": Kind.SCANNER,
    "OutOfOrderScannerNextException": Kind.SCANNER,
    "ScannerResetException": Kind.SCANNER,
    "DoNotRetryIOException": Kind.FATAL,
    "AccessDeniedException": Kind.FATAL,
    "FatalConnectionException": Kind.FATAL,
    "NoSuchColumnFamilyException": Kind.FATAL,
    "TableNotFoundException": Kind.FATAL,
    "TableNotEnabledException": Kind.FATAL,
    "TableExistsException": Kind.FATAL,
    "UnknownProtocolException": Kind.FATAL,
}
"""By the last part of a class name; of others HBase itself says whether they may be repeated."""

AFTERWARDS: Final = frozenset({"RegionServerAbortedException"})
"""Of those above, what may also be said of a write that was done: its log could not be synced."""
SHOWN_CHARS: Final = 300


class HBaseError(StoreUnavailable):
    """Something about HBase; the message is for the operator."""

    kind = Kind.FATAL
    is_in_doubt = False
    """Whether what was asked for may have been done all the same."""


class RemoteError(HBaseError):
    """HBase answered with an exception: its class name and its first line."""

    def __init__(self, name: str, text: str, *, do_not_retry: bool = False) -> None:
        self.name = name.replace("$", ".").rpartition(".")[2]
        self.text = text.strip().partition("\n")[0][:SHOWN_CHARS]
        super().__init__(self.text if self.name in self.text else f"{self.name}: {self.text}")
        self.kind = KINDS.get(self.name) or (Kind.FATAL if do_not_retry else Kind.LATER)
        self.is_in_doubt = self.name not in KINDS or self.name in AFTERWARDS


class Lost(HBaseError):
    """A connection could not be made, or ended before the answer came."""

    kind = Kind.ELSEWHERE

    def __init__(self, text: str, *, was_sent: bool = False) -> None:
        super().__init__(text)
        self.is_in_doubt = was_sent


class Late(HBaseError):
    """No answer in time. Whether the call was done is not known."""

    kind = Kind.ELSEWHERE
    is_in_doubt = True


class NoRegion(HBaseError):
    """Nobody has the region of a row now, or the meta table does not say who."""

    kind = Kind.LATER


class NoTable(HBaseError):
    """There is no such table."""


class Unreachable(HBaseError):
    """ZooKeeper, or what it should know of an HBase, cannot be had now."""

    kind = Kind.LATER


class GaveUp(HBaseError):
    """It was tried again until the time was over; `is_in_doubt` if one try may have succeeded."""

    def __init__(self, what: str, last: HBaseError, *, is_in_doubt: bool) -> None:
        outcome = ", and whether it was done is not known" if is_in_doubt else ""
        super().__init__(f"HBase: {what} failed again and again{outcome}; last: {last}")
        self.is_in_doubt = is_in_doubt


class Fenced(HBaseError):
    """The group belongs to somebody else by now, or the turn is not the next one.

    With `is_in_doubt` an earlier try of the same commit may have been done before that: it was not
    acknowledged, and must not be.
    """

    def __init__(self, text: str, *, is_in_doubt: bool = False) -> None:
        super().__init__(text)
        self.is_in_doubt = is_in_doubt


class TooLarge(HBaseError):
    """A row, a value or a commit beyond what an HBase takes without harm."""


class SnapshotGone(HBaseError):
    """The region has moved, or the scanner that held the view has ended: run the command again."""


class Unsupported(HBaseError):
    """An HBase that StrataKV cannot work with: secured, too old, or a table that is not its own."""
