"""The tracker's operations on the server: what belongs together runs under WATCH and MULTI."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

import redis
from redis.client import Pipeline

from examples.transcode import model
from examples.transcode.model import STAFF_KEY, VIDEOS_KEY, Fragment, Malformed, Status, Video

T = TypeVar("T")
ATTEMPTS = 1000


class Refused(Exception):
    """The operation makes no sense in the present state; the message is for people."""


class Unknown(Refused):
    """There is no such video."""


@dataclass(slots=True)
class Found:
    """What was read: good values by name, and a report of each bad one."""

    videos: dict[str, Video] = field(default_factory=dict)
    loads: dict[str, float] = field(default_factory=dict)
    fragments: list[Fragment] = field(default_factory=list)
    malformed: list[Malformed] = field(default_factory=list)


def connect(url: str) -> redis.Redis:
    """A client whose replies are text; bytes that are not UTF-8 show as \\xNN and do not raise."""
    return redis.Redis.from_url(url, decode_responses=True, encoding_errors="backslashreplace")


class Tracker:
    """Videos, fragments and hosts of one server."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    # -- hosts

    def set_load(self, ip: str, load: float) -> None:
        """Register a host, or take down what it says about its load."""
        self._client.hset(STAFF_KEY, model.parse_ip(ip), model.format_load(load))

    def hosts(self) -> Found:
        return _parse_loads(_hgetall(self._client, STAFF_KEY))

    # -- videos

    def videos(self) -> Found:
        found = Found()
        for video_id, text in _hgetall(self._client, VIDEOS_KEY).items():
            _collect(found, found.videos, video_id, model.parse_video, VIDEOS_KEY, text)
        return found

    def video(self, video_id: str) -> Video:
        """The state of a video; raises Refused if there is none, Malformed if it cannot be read."""
        return _load_video(self._client, video_id)

    def assign(self, video_id: str, bitrates: tuple[int, ...]) -> tuple[Video, Found]:
        """Give a new or failed video to the least loaded host, and raise that host's load.

        Also returns the hosts as they were, with a report of those whose load could not be read:
        they get no work. Fragments of a failed attempt are removed.
        """

        def work(pipe: Pipeline) -> tuple[Video, Found]:
            stale = _stale_keys(pipe, video_id)
            hosts = _parse_loads(_hgetall(pipe, STAFF_KEY))
            video = _place(hosts, bitrates)
            pipe.multi()
            pipe.hset(VIDEOS_KEY, video_id, video.text())
            pipe.hset(STAFF_KEY, video.ip, model.format_load(hosts.loads[video.ip] + video.load))
            if stale:
                pipe.delete(*stale)
            return video, hosts

        return self._atomically(work, VIDEOS_KEY, STAFF_KEY)

    def end(self, video_id: str, status: Status, image_count: int | None = None) -> Video:
        """End a video that is being transcoded, and lower its host's load by what it cost."""

        def work(pipe: Pipeline) -> Video:
            video = _load_proceeding(pipe, video_id)
            images = video.image_count if image_count is None else image_count
            ended = replace(video, status=status, image_count=images)
            load = _load_of_host(pipe, video.ip)
            pipe.multi()
            pipe.hset(VIDEOS_KEY, video_id, ended.text())
            if load is not None:
                pipe.hset(STAFF_KEY, video.ip, model.format_load(max(0.0, load - video.load)))
            return ended

        return self._atomically(work, VIDEOS_KEY, STAFF_KEY)

    # -- fragments

    def record(self, video_id: str, bitrate: int, fragment: Fragment) -> None:
        """Add a fragment to a video that is being transcoded in this bitrate.

        Watching the videos keeps a late fragment out of a playlist that has ended. Fragments do not
        change that key, so hosts that record at the same time do not disturb each other.
        """
        key = model.fragments_key(video_id, bitrate)
        text = fragment.text()
        model.parse_fragment(key, text)

        def work(pipe: Pipeline) -> None:
            _check_bitrate(_load_proceeding(pipe, video_id), video_id, bitrate)
            pipe.multi()
            pipe.zadd(key, {text: fragment.create_time})

        self._atomically(work, VIDEOS_KEY)

    def fragments(self, video_id: str, bitrate: int) -> Found:
        """The fragments by creation time, with a report of those that cannot be read."""
        found, key = Found(), model.fragments_key(video_id, bitrate)
        try:
            rows = _zrange(self._client, key)
        except Malformed as bad:
            return Found(malformed=[bad])
        for text, score in rows:
            try:
                found.fragments.append(model.parse_scored_fragment(key, text, score))
            except Malformed as bad:
                found.malformed.append(bad)
        return found

    def playable(self, video_id: str, bitrate: int) -> tuple[Video, Found]:
        """A video and its fragments in one bitrate; raises Refused if there are none."""
        video = self.video(video_id)
        _check_bitrate(video, video_id, bitrate)
        found = self.fragments(video_id, bitrate)
        if not found.fragments:
            raise Refused(f"no fragments of {video_id} in {bitrate}")
        return video, found

    def malformed(self) -> list[Malformed]:
        """Every value that does not follow its format, of videos, hosts and fragments."""
        videos = self.videos()
        reports = videos.malformed + self.hosts().malformed
        for video_id, video in sorted(videos.videos.items()):
            for bitrate in video.bitrates:
                reports += self.fragments(video_id, bitrate).malformed
        return reports

    def _atomically(self, work: Callable[[Pipeline], T], *keys: str) -> T:
        """Run `work`, which reads and then queues writes; again if a watched key changed meanwhile.

        Somebody else's EXEC succeeded each time, so the work as a whole always moves on.
        """
        with self._client.pipeline() as pipe:
            for _ in range(ATTEMPTS):
                try:
                    pipe.watch(*keys)  # type: ignore[no-untyped-call]  # not annotated there
                    result = work(pipe)
                    pipe.execute()
                    return result
                except redis.WatchError:
                    continue
        raise Refused(f"{', '.join(keys)} changed {ATTEMPTS} times in a row")


def _hgetall(client: redis.Redis, key: str) -> dict[str, str]:
    with _of_type("hash", key):
        return cast(dict[str, str], client.hgetall(key))


def _zrange(client: redis.Redis, key: str) -> list[tuple[str, float]]:
    with _of_type("sorted set", key):
        return cast(list[tuple[str, float]], client.zrange(key, 0, -1, withscores=True))


@contextmanager
def _of_type(kind: str, key: str) -> Iterator[None]:
    """Turn the server's WRONGTYPE, which names no key, into a report that does."""
    try:
        yield
    except redis.ResponseError as wrong:
        if not str(wrong).startswith("WRONGTYPE"):
            raise
        raise Malformed(key, "", f"not a {kind}") from None


def _collect(
    found: Found,
    into: dict[str, T],
    name: str,
    parse: Callable[[str, str], T],
    key: str,
    text: str,
) -> None:
    try:
        into[name] = parse(f"{key} {name}", text)
    except Malformed as bad:
        found.malformed.append(bad)


def _parse_loads(rows: dict[str, str]) -> Found:
    found = Found()
    for ip, text in rows.items():
        _collect(found, found.loads, ip, model.parse_load, STAFF_KEY, text)
    return found


def _load_video(client: redis.Redis, video_id: str) -> Video:
    with _of_type("hash", VIDEOS_KEY):
        text = cast(str | None, client.hget(VIDEOS_KEY, video_id))
    if text is None:
        raise Unknown(f"no video {video_id}")
    return model.parse_video(f"{VIDEOS_KEY} {video_id}", text)


def _load_proceeding(client: redis.Redis, video_id: str) -> Video:
    video = _load_video(client, video_id)
    if video.status is not Status.PROCEED:
        raise Refused(f"video {video_id} has ended: {video.status}")
    return video


def _load_of_host(client: redis.Redis, ip: str) -> float | None:
    """The load of a host; None if it is gone, or if its load cannot be read and so not lowered."""
    text = cast(str | None, client.hget(STAFF_KEY, ip))
    try:
        return None if text is None else model.parse_load(f"{STAFF_KEY} {ip}", text)
    except Malformed:
        return None


def _stale_keys(client: redis.Redis, video_id: str) -> list[str]:
    """Keys of an earlier, failed attempt; raises Refused if there is one that did not fail."""
    try:
        video = _load_video(client, video_id)
    except Unknown:
        return []
    if video.status is not Status.FAILED:
        raise Refused(f"video {video_id} is already there: {video.status} on {video.ip}")
    return _fragment_keys(video_id, video.bitrates)


def _fragment_keys(video_id: str, bitrates: Iterable[int]) -> list[str]:
    return [model.fragments_key(video_id, bitrate) for bitrate in bitrates]


def _place(hosts: Found, bitrates: tuple[int, ...]) -> Video:
    video = Video(Status.PROCEED, 0, "", bitrates)
    ip = model.least_loaded(hosts.loads, video.load)
    if ip is None:
        raise Refused(f"none of {len(hosts.loads)} hosts has room for a load of {video.load:g}")
    return replace(video, ip=ip)


def _check_bitrate(video: Video, video_id: str, bitrate: int) -> None:
    if bitrate not in video.bitrates:
        known = ",".join(map(str, video.bitrates))
        raise Refused(f"video {video_id} has the bitrates {known}, not {bitrate}")
