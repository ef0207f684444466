"""A day of the tracker in a minute: `python -m examples.run transcode`."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

from examples.server import fresh_server
from examples.transcode import playlist, sample
from examples.transcode.model import VIDEOS_KEY, Status
from examples.transcode.store import Tracker, connect

HOSTS = ("10.209.79.229", "10.209.79.230", "192.168.1.100")
VIDEO = "ytmaWHUzDikIGwOLl6"


def main() -> None:
    """Assign at the same time from many clients, transcode one video, play it, break a value."""
    with fresh_server() as url, connect(url) as client:
        tracker = Tracker(client)
        for ip in HOSTS:
            tracker.set_load(ip, 0)
        print(f"hosts: {', '.join(HOSTS)}, each with a load of 0")
        _assign_at_once(url, tracker)
        _play(tracker)
        client.hset(VIDEOS_KEY, "broken", "done|many|nowhere|")
        for report in tracker.malformed():
            print(f"reported: {report}")


def _assign_at_once(url: str, tracker: Tracker) -> None:
    rng = random.Random(7)
    videos = [sample.video_id(rng) for _ in range(12)]
    with ThreadPoolExecutor(6) as pool:
        placed = list(pool.map(lambda video: _assign(url, video), videos))
    share = {ip: placed.count(ip) for ip in HOSTS}
    print(f"12 videos assigned by 6 clients at once: {share}, loads {tracker.hosts().loads}")
    if set(share.values()) != {4}:
        raise AssertionError(f"the load is not even: {share}")


def _assign(url: str, video: str) -> str:
    with connect(url) as client:
        return Tracker(client).assign(video, (200,))[0].ip


def _play(tracker: Tracker) -> None:
    rng = random.Random(7)
    video, _ = tracker.assign(VIDEO, (200, 400))
    for bitrate in video.bitrates:
        for fragment in sample.fragments(rng, VIDEO, bitrate, 4):
            tracker.record(VIDEO, bitrate, fragment)
    print(f"{VIDEO}: {tracker.end(VIDEO, Status.SUCCESS, 150).text()}")
    print(playlist.render(tracker.playable(VIDEO, 400)[1].fragments, ended=True), end="")
