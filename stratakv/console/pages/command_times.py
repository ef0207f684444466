"""Which commands take the server's time: calls, and how long each takes, since the counts began."""

from dataclasses import dataclass, field
from typing import Any, Final

from stratakv.console import histograms
from stratakv.console.frame import card, meter, table
from stratakv.console.histograms import Counts
from stratakv.console.markup import Node, el
from stratakv.console.peer import parse_info
from stratakv.console.replies import Failure, Word
from stratakv.console.samples import latencies

SHOWN: Final = 20
ASKED: Final[list[tuple[Word, ...]]] = [("INFO", "commandstats"), ("LATENCY", "HISTOGRAM")]


@dataclass(slots=True)
class Times:
    """What is known of one command."""

    name: str
    calls: float
    usec: float
    failed: float
    counts: Counts = field(default_factory=dict)

    def percentile(self, share: float) -> str:
        """In microseconds, as text."""
        usec = histograms.percentile(self.counts, share)
        return "?" if usec is None else duration(usec)


def show(stats: Any, histogram: Any) -> Node:
    """A table, those that took most first; nothing for who may not ask."""
    if isinstance(stats, Failure):
        return None
    found = times_of(parse_info(stats))
    if not found:  # of a namespace nothing is told
        return None
    if not isinstance(histogram, Failure):
        for name, facts in zip(histogram[::2], histogram[1::2], strict=True):
            if (one := found.get(name.decode())) is not None:
                one.counts = latencies([name, facts])
    whole = sum(one.usec for one in found.values()) or 1
    ordered = sorted(found.values(), key=lambda one: -one.usec)
    rows: list[list[Node]] = [
        [
            el("code", one.name.replace("|", " ").upper()),
            f"{one.calls:,.0f}",
            f"{one.failed:,.0f}",
            duration(one.usec / one.calls) if one.calls else "?",
            one.percentile(0.5),
            one.percentile(0.99),
            one.percentile(0.999),
            meter(one.usec / whole, f"{one.usec / whole:.0%} of the time"),
            f"{one.usec / whole:.1%}",
        ]
        for one in ordered[:SHOWN]
    ]
    heads = ["Command", "Calls", "Failed", "Mean", "p50", "p99", "p99.9", "", "Of all time"]
    more = f" The {SHOWN} that took most of {len(found)}." if len(found) > SHOWN else ""
    hint = f"Since the server was started, or CONFIG RESETSTAT.{more}"
    content = table(heads, rows, "stacked")
    return card("Time by command", content, el("p", hint, class_="hint"))


def times_of(stats: dict[str, str]) -> dict[str, Times]:
    """INFO's commandstats."""
    found = {}
    for name, value in stats.items():
        if name.startswith("cmdstat_"):
            facts = dict(part.partition("=")[::2] for part in value.split(","))
            failed = float(facts.get("failed_calls", 0)) + float(facts.get("rejected_calls", 0))
            calls, usec = float(facts.get("calls", 0)), float(facts.get("usec", 0))
            found[name[8:]] = Times(name[8:], calls, usec, failed)
    return found


def duration(usec: float) -> str:
    """Microseconds with a unit."""
    if usec < 1000:
        return f"{usec:.0f} µs" if usec >= 10 else f"{usec:.1f} µs"
    return f"{usec / 1000:,.1f} ms" if usec < 1_000_000 else f"{usec / 1_000_000:,.1f} s"
