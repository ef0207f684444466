"""A transcoding tracker: hosts, videos, their fragments, and the playlists made of them."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import redis

from examples.arguments import DEFAULT_URL, redis_url
from examples.transcode import model, playlist, sample
from examples.transcode.model import Fragment, Malformed, Status
from examples.transcode.store import Refused, Tracker, connect


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. 0: done; 1: refused, or something stored is malformed; 2: wrong usage."""
    args = _parser().parse_args(argv)
    try:
        with connect(args.url) as client:
            return int(args.run(Tracker(client), args))
    except (Refused, Malformed, redis.RedisError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1


def _host(tracker: Tracker, args: argparse.Namespace) -> int:
    tracker.set_load(args.ip, args.load)
    print(f"host {args.ip} load {model.format_load(args.load)}")
    return 0


def _hosts(tracker: Tracker, args: argparse.Namespace) -> int:
    found = tracker.hosts()
    for ip, load in sorted(found.loads.items(), key=lambda item: (item[1], item[0])):
        print(f"{ip:<16}{model.format_load(load):>8}")
    return _report(found.malformed)


def _assign(tracker: Tracker, args: argparse.Namespace) -> int:
    video, hosts = tracker.assign(args.video, args.bitrates)
    print(f"{args.video} goes to {video.ip}")
    _report(hosts.malformed)
    return 0


def _record(tracker: Tracker, args: argparse.Namespace) -> int:
    fragment = Fragment(
        fragment_id=args.fragment_id or args.video,
        hostname=args.hostname,
        storage_path=args.path,
        create_time=int(time.time()) if args.time is None else args.time,
        fps=args.fps,
        frame_count=args.frames,
        file_size=args.size,
    )
    tracker.record(args.video, args.bitrate, fragment)
    print(f"{fragment.seconds:.3f} s of {args.video} in {args.bitrate}")
    return 0


def _end(tracker: Tracker, args: argparse.Namespace) -> int:
    video = tracker.end(args.video, args.status, args.images)
    print(f"{args.video} {video.text()}")
    return 0


def _status(tracker: Tracker, args: argparse.Namespace) -> int:
    if args.video:
        print(f"{args.video} {tracker.video(args.video).text()}")
        return 0
    found = tracker.videos()
    for video_id, video in sorted(found.videos.items()):
        bitrates = ",".join(map(str, video.bitrates))
        print(f"{video_id:<20}{video.status:<9}{video.image_count:>5}  {video.ip:<16}{bitrates}")
    return _report(found.malformed)


def _playlist(tracker: Tracker, args: argparse.Namespace) -> int:
    video, found = tracker.playable(args.video, args.bitrate)
    ended = video.status is not Status.PROCEED
    sys.stdout.write(playlist.render(found.fragments, ended=ended, window=args.window))
    return _report(found.malformed)


def _check(tracker: Tracker, args: argparse.Namespace) -> int:
    reports = tracker.malformed()
    if not reports:
        print("every value is well-formed")
    return _report(reports)


def _sample(tracker: Tracker, args: argparse.Namespace) -> int:
    made = sample.fill(tracker, hosts=args.hosts, videos=args.videos, seed=args.seed)
    print(f"{args.hosts} hosts, {len(made)} videos, the first is {made[0] if made else 'none'}")
    return 0


def _report(reports: Iterable[Malformed]) -> int:
    """Tell of malformed values on the standard error; 1 if there were any."""
    lines = [f"malformed: {report}" for report in reports]
    print("".join(f"{line}\n" for line in lines), end="", file=sys.stderr)
    return 1 if lines else 0


def _checked(parse: Callable[[str], object], kind: str) -> Callable[[str], object]:
    """An argparse type that refuses what the format would refuse, in the format's words."""

    def convert(text: str) -> object:
        try:
            return parse(text)
        except Malformed as bad:
            raise argparse.ArgumentTypeError(bad.reason) from None

    convert.__name__ = kind
    return convert


_VIDEO = _checked(model.parse_video_id, "video id")
_IP = _checked(model.parse_ip, "address")
_BITRATES = _checked(model.parse_bitrates, "bitrates")
_LOAD = _checked(lambda text: model.parse_load("load", text), "load")
_COUNT = _checked(lambda text: model.parse_count("number", text), "number")
_RATE = _checked(lambda text: model.parse_rate("fps", text), "number")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.transcode", description=__doc__)
    url = os.environ.get("STRATAKV_URL", DEFAULT_URL)
    parser.add_argument(
        "--url", type=redis_url, default=url, help="the server (STRATAKV_URL), %(default)s"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_host_commands(commands)
    _add_video_commands(commands)
    _add_fragment_commands(commands)
    _add_data_commands(commands)
    return parser


Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Run = Callable[[Tracker, argparse.Namespace], int]


def _add(commands: Subparsers, name: str, run: Run, help_text: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=help_text, description=help_text)
    parser.set_defaults(run=run)
    return parser


def _add_host_commands(commands: Subparsers) -> None:
    host = _add(commands, "host", _host, "register a host, or note its load")
    host.add_argument("ip", type=_IP)
    host.add_argument("load", type=_LOAD, nargs="?", default=0.0)
    _add(commands, "hosts", _hosts, "list the hosts by load")


def _add_video_commands(commands: Subparsers) -> None:
    assign = _add(commands, "assign", _assign, "give a video to the least loaded host")
    assign.add_argument("video", type=_VIDEO)
    assign.add_argument("bitrates", type=_BITRATES, help="such as 200,400")
    for name, status in (("end", Status.SUCCESS), ("fail", Status.FAILED)):
        end = _add(commands, name, _end, f"mark a video as {status}")
        end.add_argument("video", type=_VIDEO)
        end.add_argument("--images", type=_COUNT, help="number of screenshots taken")
        end.set_defaults(status=status)
    status_of = _add(commands, "status", _status, "show a video, or all")
    status_of.add_argument("video", type=_VIDEO, nargs="?")


def _add_fragment_commands(commands: Subparsers) -> None:
    record = _add(commands, "record", _record, "record a fragment of a video")
    record.add_argument("video", type=_VIDEO)
    record.add_argument("bitrate", type=_COUNT)
    record.add_argument("path", help="path of the file on its storage host")
    record.add_argument("--hostname", default=sample.HOSTNAME, help="%(default)s")
    record.add_argument("--fragment-id", type=_VIDEO, help="the video id if not given")
    record.add_argument("--time", type=_COUNT, help="unix time of creation, now if not given")
    record.add_argument("--fps", type=_RATE, default=25.0)
    record.add_argument("--frames", type=_COUNT, default=250)
    record.add_argument("--size", type=_COUNT, default=0, help="bytes")
    play = _add(commands, "playlist", _playlist, "print the HLS playlist of a video")
    play.add_argument("video", type=_VIDEO)
    play.add_argument("bitrate", type=_COUNT)
    play.add_argument("--window", type=_COUNT, help="only the last so many fragments")


def _add_data_commands(commands: Subparsers) -> None:
    _add(commands, "check", _check, "report every malformed value with its key")
    fill = _add(commands, "sample", _sample, "make sample data")
    fill.add_argument("--hosts", type=_COUNT, default=4)
    fill.add_argument("--videos", type=_COUNT, default=8)
    fill.add_argument("--seed", type=int, default=1)
