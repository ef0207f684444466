"""oom-score-adj: which process the system ends first when no memory is left.

Linux keeps a number for each process, /proc/self/oom_score_adj. As in Redis a replica is easier to
do without than a master. What it was at the start comes back when the option is turned off.
"""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stratakv.options import EffectFailed, Effects

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

_FILE: Final = Path("/proc/self/oom_score_adj")
_FAILED: Final = "Failed to set current oom_score_adj. Check server logs."
_MOST: Final = 1000


class OomScore:
    """The number that the system is told."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._before: int | None = None
        """What it was before it was changed here."""

    @property
    def effects(self) -> Effects:
        """What setting its options does."""
        return dict.fromkeys(("oom-score-adj", "oom-score-adj-values"), self._choose)

    def _choose(self, _value: object) -> None:
        try:
            self._tell()
        except OSError as error:
            log.warning("cannot change %s: %s", _FILE, error.strerror)
            raise EffectFailed(_FAILED) from None

    def follow_role(self) -> None:
        """The server starts, or has become a master or a replica."""
        try:
            self._tell()
        except OSError as error:
            log.warning("cannot change %s: %s", _FILE, error.strerror)

    def _tell(self) -> None:
        options = self._server.options
        if options.oom_score_adj == "no":
            if self._before is not None:
                _FILE.write_text(f"{self._before}\n", encoding="ascii")
                self._before = None
            return
        if self._before is None:
            self._before = int(_FILE.read_text(encoding="ascii"))
        master, replica, _ = map(int, options.oom_score_adj_values.split())
        score = replica if options.replicaof else master
        if options.oom_score_adj != "absolute":
            score += self._before
        _FILE.write_text(f"{min(max(score, -_MOST), _MOST)}\n", encoding="ascii")
