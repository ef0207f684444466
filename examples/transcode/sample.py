"""Seeded sample data: the same seed gives the same videos, fragments and hosts."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator

from examples.transcode.model import Fragment, Status
from examples.transcode.store import Tracker

HOSTNAME = "http://x100speed.com"
FIRST_TIME = 1437028427
FPS = 25
FRAMES_PER_FRAGMENT = 250
SIZES = {200: "cif", 400: "vga", 800: "hd"}


def video_id(rng: random.Random) -> str:
    return "".join(rng.choices(string.ascii_letters + string.digits, k=18))


def fragments(
    rng: random.Random, video: str, bitrate: int, count: int, first_time: int = FIRST_TIME
) -> Iterator[Fragment]:
    """Fragments of ten seconds, one after the other; the last one is shorter."""
    for number in range(count):
        last = number == count - 1
        frames = rng.randint(25, FRAMES_PER_FRAGMENT) if last else FRAMES_PER_FRAGMENT
        created = first_time + number * FRAMES_PER_FRAGMENT // FPS
        yield Fragment(
            fragment_id=video,
            hostname=HOSTNAME,
            storage_path=storage_path(video, bitrate, created),
            create_time=created,
            fps=FPS,
            frame_count=frames,
            file_size=frames * bitrate * 1000 // 8 // FPS + rng.randint(0, 2000),
        )


def storage_path(video: str, bitrate: int, created: int) -> str:
    """Two levels of directories from letters of the id, so that none of them gets too full."""
    folders = f"/{video[4:6]}/{video[8]}{video[10]}".upper()
    return f"{folders}/{video}_{created}_{SIZES.get(bitrate, bitrate)}.ts"


def fill(tracker: Tracker, *, hosts: int, videos: int, seed: int) -> list[str]:
    """Register hosts and take videos through their lives: most succeed, some fail, some go on."""
    rng = random.Random(seed)
    for number in range(hosts):
        tracker.set_load(f"10.209.79.{number + 1}", 0)
    return [_live(tracker, rng) for _ in range(videos)]


def _live(tracker: Tracker, rng: random.Random) -> str:
    video = video_id(rng)
    bitrates = rng.choice([(200,), (200, 400), (200, 400, 800)])
    tracker.assign(video, bitrates)
    count = rng.randint(3, 12)
    for bitrate in bitrates:
        for fragment in fragments(rng, video, bitrate, count):
            tracker.record(video, bitrate, fragment)
    outcome = rng.choices([Status.SUCCESS, Status.FAILED, Status.PROCEED], [6, 1, 2])[0]
    if outcome is not Status.PROCEED:
        tracker.end(video, outcome, image_count=count * 15)
    return video
