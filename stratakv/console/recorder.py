"""What the charts show: samples of ten minutes, two hours and a day, in memory.

Samples are taken as the user of `--url`, if it names one. If not, as anybody, where the server asks
for no password, or else as somebody who is logged in and may read INFO. Who may not read it, or is
told of a namespace alone, is not shown what others have recorded.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from stratakv.console import samples
from stratakv.console.client import Client
from stratakv.console.forecasts import Forecast
from stratakv.console.peer import namespace_of, parse_info
from stratakv.console.replies import Away, Failure, Refused
from stratakv.console.samples import Look, Values

log = logging.getLogger("stratakv.console")

INTERVAL: Final = 2.0
RANGES: Final = {"10m": 2.0, "2h": 20.0, "1d": 240.0}
"""Each range with the seconds of a point."""
POINTS: Final = 360
METRICS_SECONDS: Final = 3.0
METRICS_BYTES: Final = 4 << 20
DEFAULT_HTTP_PORT: Final = 9121
REFUSED_SECONDS: Final = 600.0
"""For so long a server that wants a password is not asked again without one."""
LATE_SECONDS: Final = 5.0
"""A sample that is waited for longer is worth a word."""


@dataclass(slots=True)
class Ring:
    """Points of one distance: the mean of what was seen in between."""

    seconds: float
    points: deque[tuple[float, Values]] = field(default_factory=lambda: deque(maxlen=POINTS))
    _pending: list[Values] = field(default_factory=list)
    _since: float = 0.0

    def add(self, when: float, seen: Values) -> None:
        """One more sample."""
        self._since = self._since or when
        self._pending.append(seen)
        if self.seconds <= INTERVAL or when - self._since >= self.seconds:
            self.points.append((when, _mean(self._pending)))
            self._pending, self._since = [], when

    def columns(self, after: float) -> dict[str, Any]:
        """Times, and a list of numbers by name; where nothing was seen is None."""
        chosen = [point for point in self.points if point[0] > after]
        names = sorted({name for _, seen in chosen for name in seen})
        return {
            "t": [round(when, 3) for when, _ in chosen],
            "series": {name: [_rounded(seen.get(name)) for _, seen in chosen] for name in names},
        }


class Recorder:
    """Takes a sample every two seconds, from whoever may."""

    def __init__(self, own: Client | None, metrics_url: str, *, is_named: bool = True) -> None:
        self._own = own
        self._is_named = is_named
        """Whether that is a user of its own, and nobody else is to be asked."""
        self._refused = -REFUSED_SECONDS
        """When it was not told, without a name."""
        self._metrics_url = metrics_url
        self._http: aiohttp.ClientSession | None = None
        self._families: dict[str, str] = {}
        self.forecast = Forecast()
        self.last: Look | None = None
        self._problem = ""
        self._asked = 0.0
        """Since when the server is asked, while it is."""
        self.rings = {name: Ring(seconds) for name, seconds in RANGES.items()}

    @property
    def problem(self) -> str:
        """Why there is no sample now; nothing while the next is not late."""
        waited = time.monotonic() - self._asked if self._asked else 0.0
        if waited > LATE_SECONDS:
            return f"the server has been asked for INFO {waited:.0f} s ago and has not answered yet"
        return self._problem

    async def run(self, clients: "Iterable[Client]") -> None:
        """Go on until cancelled; `clients` is looked at anew each time."""
        try:
            async with aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=METRICS_SECONDS)
            ) as self._http:
                while True:
                    await self._sample(clients)
                    await asyncio.sleep(INTERVAL)
        finally:
            if self._own is not None:
                self._own.close()

    async def _sample(self, clients: "Iterable[Client]") -> None:
        """Ask one after the other until one is answered; who looks meanwhile sees how it was."""
        problem = ""  # whoever sees the page may read INFO, and is asked soon
        for client in self._askable(clients):
            self._asked = time.monotonic()
            try:
                look = await self._look(client)
            except Away as away:
                problem = str(away)
            except Refused as refusal:
                problem = f"{_name_of(client)} may not be told: {refusal}"
                if client is self._own:
                    self._refused = time.monotonic()
            except Exception:  # of a server that answers oddly; the charts have a gap
                log.exception("a sample failed")
                problem = "the server's counts could not be read; the console's log says why"
            else:
                self._keep(look)
                return
            finally:
                self._asked = 0.0
        self.last, self._problem = None, problem

    def _askable(self, clients: "Iterable[Client]") -> list[Client]:
        """Who may be told, the first first."""
        if self._own is None:
            return list(clients)
        if self._is_named:
            return [self._own]
        was_refused = time.monotonic() - self._refused < REFUSED_SECONDS
        return [*([] if was_refused else [self._own]), *clients]

    def _keep(self, look: Look) -> None:
        before, self.last, self._problem = self.last, look, ""
        if before is not None and before.info.get("run_id") != look.info.get("run_id"):
            before = None
        seen = samples.values(look, before)
        for ring in self.rings.values():
            ring.add(look.when, seen)

    async def _look(self, client: Client) -> Look:
        info, latency = await client.pipeline([("INFO", "everything"), ("LATENCY", "HISTOGRAM")])
        if isinstance(info, Failure):
            raise Refused(str(info))
        if namespace := namespace_of(info):
            raise Refused(f"it is bound to the namespace {namespace}, and told of that alone")
        look = Look(time.time(), parse_info(info))
        if not self._families:
            commands = (await client.pipeline([("COMMAND",)]))[0]
            if not isinstance(commands, Failure):
                self._families = samples.families_of(commands)
        look.calls = samples.calls_by_family(look.info, self._families)
        if not isinstance(latency, Failure):
            look.latency = samples.latencies(latency)
        if "stratakv_version" in look.info:
            await self._read_metrics(client, look)
            await self.forecast.renew(client, look.info, look.when)
            look.soon = dict(self.forecast.keys)
        return look

    async def _read_metrics(self, client: Client, look: Look) -> None:
        """A server without its page of metrics has fewer charts."""
        assert self._http is not None
        url = self._metrics_url or await self._find_metrics(client)
        if not url:
            return
        # The page has the certificate of the server, whose authority `--url` may name.
        trust = client.address.tls_context() or True
        try:
            async with self._http.get(url, allow_redirects=False, ssl=trust) as answer:
                body = await answer.content.read(METRICS_BYTES)
                while not answer.content.at_eof() and len(body) < METRICS_BYTES:
                    body += await answer.content.read(METRICS_BYTES - len(body))
            samples.read_metrics(body.decode("utf-8", "replace"), look)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as problem:
            log.debug("no metrics from %s: %s", url, problem)

    async def _find_metrics(self, client: Client) -> str:
        """The address that the server's options lead to; nothing if they cannot be read."""
        (reply,) = await client.pipeline([("CONFIG", "GET", "http*")])
        if isinstance(reply, Failure) or client.address.path:
            return ""
        told = dict(zip(reply[::2], reply[1::2], strict=True))
        port = int(told.get(b"http-port", b"0")) or DEFAULT_HTTP_PORT
        if told.get(b"http") == b"no":
            return ""
        scheme = "https" if told.get(b"http-tls") == b"yes" else "http"
        host = client.address.host
        found = (
            f"{scheme}://[{host}]:{port}/metrics"
            if ":" in host
            else f"{scheme}://{host}:{port}/metrics"
        )
        self._metrics_url = found if urlsplit(found).hostname else ""
        return self._metrics_url


def _name_of(client: Client) -> str:
    return f"the user {client.login.user or 'default'}"


def _mean(seen: list[Values]) -> Values:
    if len(seen) == 1:
        return seen[0]
    sums: dict[str, list[float]] = {}
    for one in seen:
        for name, number in one.items():
            sums.setdefault(name, []).append(number)
    # A percentile of the worst moment says more than a mean of percentiles.
    return {
        name: max(numbers) if ".p" in name else sum(numbers) / len(numbers)
        for name, numbers in sums.items()
    }


def _rounded(number: float | None) -> float | None:
    return (
        None if number is None else float(f"{number:.5g}") if abs(number) < 1e5 else round(number)
    )
