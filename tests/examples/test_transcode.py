"""The transcoding tracker: its formats, its playlists, and its command line on a real server."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from examples.transcode import cli, model, playlist, sample, store
from examples.transcode.model import STAFF_KEY, VIDEOS_KEY, Fragment, Malformed, Status, Video
from examples.transcode.store import Refused, Tracker
from tests.harness.servers import ROOT
from tests.harness.waiting import HANG_S

VIDEO = "ytmaWHUzDikIGwOLl6"
VIDEO_TEXT = "success|150|10.209.79.229|200,400"
FRAGMENT_TEXT = (
    "ytmaWHUzDikIGwOLl6|http://x100speed.com|"
    "/WH/DK/ytmaWHUzDikIGwOLl6_1437028427_cif.ts|1437028427|25|250|28427"
)
FRAGMENT = Fragment(
    fragment_id=VIDEO,
    hostname="http://x100speed.com",
    storage_path="/WH/DK/ytmaWHUzDikIGwOLl6_1437028427_cif.ts",
    create_time=1437028427,
    fps=25,
    frame_count=250,
    file_size=28427,
)

# -- formats


def test_the_documents_video_text_round_trips() -> None:
    video = model.parse_video("k", VIDEO_TEXT)
    assert video == Video(Status.SUCCESS, 150, "10.209.79.229", (200, 400))
    assert video.text() == VIDEO_TEXT


def test_the_documents_fragment_text_round_trips() -> None:
    assert model.parse_fragment("k", FRAGMENT_TEXT) == FRAGMENT
    assert FRAGMENT.text() == FRAGMENT_TEXT
    assert FRAGMENT.seconds == 10


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "1 parts instead of 4"),
        ("success|150|10.0.0.1", "3 parts instead of 4"),
        ("success|150|10.0.0.1|200|", "5 parts instead of 4"),
        ("done|150|10.0.0.1|200", "status 'done' is none of proceed, success, failed"),
        ("SUCCESS|150|10.0.0.1|200", "status"),
        ("success|-1|10.0.0.1|200", "image_count '-1'"),
        ("success|1_0|10.0.0.1|200", "image_count '1_0'"),
        ("success|\N{ARABIC-INDIC DIGIT ONE}|10.0.0.1|200", "image_count"),
        (f"success|{'9' * 5000}|10.0.0.1|200", "image_count"),
        ("success|150|10.0.0.256|200", "ip '10.0.0.256' is not an address"),
        ("success|150||200", "ip ''"),
        ("success|150|10.0.0.1|", "bitrate ''"),
        ("success|150|10.0.0.1|200,", "bitrate ''"),
        ("success|150|10.0.0.1|200;400", "bitrate '200;400'"),
        ("success|150|10.0.0.1|200,200", "bitrates must be different"),
        ("success|150|10.0.0.1|0", "bitrates must be different and not 0"),
        ("success|150|10.0.0.1|200\n", "bitrate"),
    ],
)
def test_a_malformed_video_is_told_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(Malformed) as caught:
        model.parse_video("the-key the-field", text)
    assert caught.value.reason.startswith(reason)
    assert str(caught.value).startswith("the-key the-field: ")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("|28427", "", "6 parts instead of 7"),
        ("|28427", "|28427|1", "8 parts instead of 7"),
        ("|28427", "|x", "file_size 'x'"),
        ("|25|", "|0|", "fps is 0"),
        ("|25|", "|0.0|", "fps is 0"),
        ("|25|", "|nan|", "fps 'nan'"),
        ("|25|", "|1e3|", "fps '1e3'"),
        ("|250|", "|0|", "frame_count is 0"),
        ("|250|", "|-250|", "frame_count '-250'"),
        ("|1437028427|", "|soon|", "create_time 'soon'"),
        ("http://x100speed.com", "x100speed.com", "hostname"),
        ("http://x100speed.com", "http://a b", "hostname"),
        ("/WH/", "WH/", "storage_path"),
        ("/WH/", "/W\nH/", "storage_path"),
        ("ytmaWHUzDikIGwOLl6|", "|", "fragment_id ''"),
    ],
)
def test_a_malformed_fragment_is_refused(old: str, new: str, reason: str) -> None:
    with pytest.raises(Malformed) as caught:
        model.parse_fragment("k", FRAGMENT_TEXT.replace(old, new, 1))
    assert caught.value.reason.startswith(reason)


def test_a_score_must_be_the_create_time() -> None:
    assert model.parse_scored_fragment("k", FRAGMENT_TEXT, 1437028427.0) == FRAGMENT
    with pytest.raises(Malformed, match="not the score 1437028428"):
        model.parse_scored_fragment("k", FRAGMENT_TEXT, 1437028428.0)


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "1e2", "0x10", "9.", ".5", "90,5", "1 "])
def test_a_malformed_load_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match=r"^staff 10\.0\.0\.1: "):
        model.parse_load("staff 10.0.0.1", text)


@pytest.mark.parametrize(
    ("load", "text"), [(0, "0"), (90.5, "90.5"), (100, "100"), (0.1 * 3, "0.3")]
)
def test_loads_are_written_as_people_write_them(load: float, text: str) -> None:
    assert model.format_load(load) == text


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_reported(text: str) -> None:
    for parse in (model.parse_video, model.parse_fragment, model.parse_load):
        with suppress(Malformed):
            parse("k", text)


def test_the_least_loaded_host_with_room_is_chosen() -> None:
    assert model.least_loaded({"b": 5, "a": 5, "c": 90}, 10) == "a"
    assert model.least_loaded({"a": 95, "b": 90}, 10) == "b"
    assert model.least_loaded({"a": 95}, 10) is None
    assert model.least_loaded({}, 10) is None


# -- playlists


def _tag(line: str) -> tuple[str, str]:
    found = re.fullmatch(r"(#EXT[A-Z0-9-]*):?(.*)", line)
    assert found is not None, line
    return found[1], found[2]


def _parse_playlist(text: str) -> dict[str, str]:
    """Check what RFC 8216 asks of every media playlist, and return its tags."""
    lines = text.splitlines()
    assert lines[0] == "#EXTM3U"
    assert text.endswith("\n")
    tags = dict(_tag(line) for line in lines if line.startswith("#"))
    durations = [float(line[8:-1]) for line in lines if line.startswith("#EXTINF:")]
    target = int(tags["#EXT-X-TARGETDURATION"])
    assert all(round(duration) <= target for duration in durations)
    for number, line in enumerate(lines):
        if line.startswith("#EXTINF:"):
            assert re.fullmatch(r"#EXTINF:\d+\.\d{3},", line)
            assert re.fullmatch(r"https?://\S+", lines[number + 1])
    assert len(durations) == sum(not line.startswith("#") for line in lines)
    return tags


def test_a_finished_playlist_ends() -> None:
    text = playlist.render([FRAGMENT, replace(FRAGMENT, frame_count=70)], ended=True)
    assert text == (
        "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:10\n#EXT-X-MEDIA-SEQUENCE:0\n"
        "#EXT-X-PLAYLIST-TYPE:VOD\n"
        "#EXTINF:10.000,\nhttp://x100speed.com/WH/DK/ytmaWHUzDikIGwOLl6_1437028427_cif.ts\n"
        "#EXTINF:2.800,\nhttp://x100speed.com/WH/DK/ytmaWHUzDikIGwOLl6_1437028427_cif.ts\n"
        "#EXT-X-ENDLIST\n"
    )
    _parse_playlist(text)


def test_a_playlist_that_grows_has_no_end() -> None:
    tags = _parse_playlist(playlist.render([FRAGMENT], ended=False))
    assert "#EXT-X-ENDLIST" not in tags
    assert tags["#EXT-X-PLAYLIST-TYPE"] == "EVENT"


def test_a_window_moves_the_media_sequence_and_keeps_the_target() -> None:
    fragments = [FRAGMENT, *[replace(FRAGMENT, frame_count=25)] * 4]
    tags = _parse_playlist(playlist.render(fragments, ended=False, window=3))
    assert tags["#EXT-X-MEDIA-SEQUENCE"] == "2"
    assert tags["#EXT-X-TARGETDURATION"] == "10"
    assert "#EXT-X-PLAYLIST-TYPE" not in tags


@pytest.mark.parametrize(("frames", "fps", "target"), [(1, 25, 1), (250, 25, 10), (251, 25, 11)])
def test_the_target_duration_covers_the_longest(frames: int, fps: float, target: int) -> None:
    longest = replace(FRAGMENT, frame_count=frames, fps=fps)
    assert playlist.target_duration([longest, replace(longest, fps=fps * 2)]) == target


# -- on a server


@pytest.fixture
def client(url: str) -> Iterator[redis.Redis]:
    with store.connect(url) as connected:
        yield connected


@pytest.fixture
def tracker(client: redis.Redis) -> Tracker:
    return Tracker(client)


def test_keys_and_values_are_the_documents(tracker: Tracker, client: redis.Redis) -> None:
    tracker.set_load("10.209.79.229", 90)
    tracker.assign(VIDEO, (200, 400))
    assert client.hgetall(STAFF_KEY) == {"10.209.79.229": "100"}
    assert client.hget("x100speed_hash_videoid", VIDEO) == "proceed|0|10.209.79.229|200,400"
    tracker.record(VIDEO, 200, FRAGMENT)
    key = "x100speed_sortedset_ytmaWHUzDikIGwOLl6_200"
    assert client.zrange(key, 0, -1, withscores=True) == [(FRAGMENT_TEXT, 1437028427.0)]
    tracker.end(VIDEO, Status.SUCCESS, 150)
    assert client.hget("x100speed_hash_videoid", VIDEO) == VIDEO_TEXT
    assert client.hget("x100speed_hash_staff", "10.209.79.229") == "90"


def test_many_clients_assign_evenly(url: str, tracker: Tracker) -> None:
    hosts = [f"10.0.0.{number}" for number in range(4)]
    for ip in hosts:
        tracker.set_load(ip, 0)

    def assign(number: int) -> str:
        with store.connect(url) as client:
            return Tracker(client).assign(f"video{number}", (200,))[0].ip

    with ThreadPoolExecutor(8) as pool:
        given_to = Counter(pool.map(assign, range(32)))
    assert given_to == dict.fromkeys(hosts, 8)
    assert tracker.hosts().loads == dict.fromkeys(hosts, 40.0)


def test_a_load_that_changes_meanwhile_is_seen(
    url: str, tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker.set_load("10.0.0.1", 10)
    tracker.set_load("10.0.0.2", 20)
    choices: list[str | None] = []

    def choose_slowly(loads: dict[str, float], cost: float) -> str | None:
        if not choices:
            with store.connect(url) as other:
                Tracker(other).set_load("10.0.0.1", 80)
        choices.append(least_loaded(loads, cost))
        return choices[-1]

    least_loaded = model.least_loaded
    monkeypatch.setattr(model, "least_loaded", choose_slowly)
    video, _ = tracker.assign(VIDEO, (200,))
    assert choices == ["10.0.0.1", "10.0.0.2"]
    assert video.ip == "10.0.0.2"
    assert tracker.hosts().loads == {"10.0.0.1": 80, "10.0.0.2": 25}


def test_a_fragment_that_comes_while_its_video_ends_is_refused(
    url: str, tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker.set_load("10.0.0.1", 0)
    tracker.assign(VIDEO, (200,))
    checks: list[Video] = []

    def end_meanwhile(video: Video, video_id: str, bitrate: int) -> None:
        if not checks:
            with store.connect(url) as other:
                Tracker(other).end(video_id, Status.SUCCESS)
        checks.append(video)

    monkeypatch.setattr(store, "_check_bitrate", end_meanwhile)
    with pytest.raises(Refused, match="has ended"):
        tracker.record(VIDEO, 200, FRAGMENT)
    assert tracker.fragments(VIDEO, 200).fragments == []


def test_a_failed_video_starts_anew_without_its_old_fragments(tracker: Tracker) -> None:
    tracker.set_load("10.0.0.1", 0)
    tracker.assign(VIDEO, (200,))
    tracker.record(VIDEO, 200, FRAGMENT)
    with pytest.raises(Refused, match="already there: proceed"):
        tracker.assign(VIDEO, (200,))
    tracker.end(VIDEO, Status.FAILED)
    tracker.assign(VIDEO, (400,))
    assert tracker.fragments(VIDEO, 200).fragments == []
    assert tracker.hosts().loads == {"10.0.0.1": 5.0}


def test_what_makes_no_sense_is_refused(tracker: Tracker) -> None:
    with pytest.raises(Refused, match="none of 0 hosts"):
        tracker.assign(VIDEO, (200,))
    tracker.set_load("10.0.0.1", 96)
    with pytest.raises(Refused, match="none of 1 hosts has room"):
        tracker.assign(VIDEO, (200,))
    with pytest.raises(Refused, match=f"no video {VIDEO}"):
        tracker.end(VIDEO, Status.SUCCESS)
    tracker.set_load("10.0.0.1", 0)
    tracker.assign(VIDEO, (200,))
    with pytest.raises(Refused, match="bitrates 200, not 400"):
        tracker.record(VIDEO, 400, FRAGMENT)
    with pytest.raises(Malformed, match="fps is 0"):
        tracker.record(VIDEO, 200, replace(FRAGMENT, fps=0))
    with pytest.raises(Refused, match="no fragments"):
        tracker.playable(VIDEO, 200)


def test_malformed_values_are_reported_with_their_keys(
    tracker: Tracker, client: redis.Redis
) -> None:
    tracker.set_load("10.0.0.9", 50)
    client.hset(STAFF_KEY, "10.0.0.1", "idle")
    client.hset(VIDEOS_KEY, "bytes", b"\xff\xfe|1|10.0.0.1|200")
    client.hset(VIDEOS_KEY, "short", "success")
    video, hosts = tracker.assign(VIDEO, (200, 400))
    assert video.ip == "10.0.0.9"
    assert [bad.where for bad in hosts.malformed] == [f"{STAFF_KEY} 10.0.0.1"]
    tracker.record(VIDEO, 200, FRAGMENT)
    client.zadd(model.fragments_key(VIDEO, 200), {"junk": 1, FRAGMENT_TEXT + "9": 2})
    client.set(model.fragments_key(VIDEO, 400), "a string")
    assert [f"{bad.where}: {bad.reason}" for bad in tracker.malformed()] == [
        f"{VIDEOS_KEY} bytes: status '\\\\xff\\\\xfe' is none of proceed, success, failed",
        f"{VIDEOS_KEY} short: 1 parts instead of 4",
        f"{STAFF_KEY} 10.0.0.1: load 'idle' is not well-formed",
        f"x100speed_sortedset_{VIDEO}_200: 1 parts instead of 7",
        f"x100speed_sortedset_{VIDEO}_200: create_time is not the score 2",
        f"x100speed_sortedset_{VIDEO}_400: not a sorted set",
    ]
    assert tracker.fragments(VIDEO, 200).fragments == [FRAGMENT]


def test_the_load_of_a_host_that_cannot_be_read_does_not_hold_up_the_end(
    tracker: Tracker, client: redis.Redis
) -> None:
    tracker.set_load("10.0.0.1", 0)
    tracker.assign(VIDEO, (200,))
    client.hset(STAFF_KEY, "10.0.0.1", "idle")
    assert tracker.end(VIDEO, Status.FAILED).status is Status.FAILED
    assert client.hget(STAFF_KEY, "10.0.0.1") == "idle"


def test_sample_data_is_the_same_for_the_same_seed(tracker: Tracker, client: redis.Redis) -> None:
    def dump() -> dict[str, object]:
        found: dict[str, object] = {
            str(key): client.zrange(key, 0, -1) for key in client.keys("x100speed_sortedset_*")
        }
        return {**found, "videos": client.hgetall(VIDEOS_KEY), "staff": client.hgetall(STAFF_KEY)}

    sample.fill(tracker, hosts=3, videos=6, seed=5)
    first = dump()
    client.flushall()
    sample.fill(tracker, hosts=3, videos=6, seed=5)
    assert dump() == first
    assert tracker.malformed() == []
    assert len(first) > 6


# -- the command line


def _run(url: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "examples.transcode", "--url", url, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )


@pytest.mark.application
def test_the_life_of_a_video_on_the_command_line(url: str) -> None:
    assert _run(url, "host", "192.168.1.100", "90.5").stdout == "host 192.168.1.100 load 90.5\n"
    _run(url, "host", "192.168.1.101")
    assert _run(url, "assign", VIDEO, "200,400").stdout == f"{VIDEO} goes to 192.168.1.101\n"
    for time in ("1437028437", "1437028427"):
        path = f"/WH/DK/{VIDEO}_{time}_cif.ts"
        done = _run(url, "record", VIDEO, "200", path, "--time", time, "--fps", "29.97")
        assert done.stdout == f"8.342 s of {VIDEO} in 200\n"
    growing = _run(url, "playlist", VIDEO, "200", "--window", "1")
    tags = _parse_playlist(growing.stdout)
    assert tags["#EXT-X-MEDIA-SEQUENCE"] == "1"
    assert tags["#EXT-X-TARGETDURATION"] == "9"
    ended = _run(url, "end", VIDEO, "--images", "150")
    assert ended.stdout == f"{VIDEO} success|150|192.168.1.101|200,400\n"
    whole = _run(url, "playlist", VIDEO, "200").stdout
    assert "#EXT-X-ENDLIST" in _parse_playlist(whole)
    assert whole.index("1437028427") < whole.index("1437028437")
    assert _run(url, "hosts").stdout == "192.168.1.101          0\n192.168.1.100       90.5\n"


def _main(capsys: pytest.CaptureFixture[str], url: str, *words: str) -> tuple[int, str, str]:
    code = cli.main(["--url", url, *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_refusals_and_reports_on_the_command_line(
    url: str, client: redis.Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _main(capsys, url, "check") == (0, "every value is well-formed\n", "")
    assert _main(capsys, url, "fail", VIDEO) == (1, "", f"error: no video {VIDEO}\n")
    client.hset(VIDEOS_KEY, "bad", "x")
    client.hset(VIDEOS_KEY, VIDEO, VIDEO_TEXT)
    report = f"{VIDEOS_KEY} bad: 'x': 1 parts instead of 4\n"
    assert _main(capsys, url, "check") == (1, "", f"malformed: {report}")
    code, out, err = _main(capsys, url, "status")
    assert (code, err) == (1, f"malformed: {report}")
    assert out.split() == [VIDEO, "success", "150", "10.209.79.229", "200,400"]
    assert _main(capsys, url, "status", "bad") == (1, "", f"error: {report}")
    client.set("x100speed_hash_staff", "a string")
    assert _main(capsys, url, "hosts") == (1, "", f"error: {STAFF_KEY}: '': not a hash\n")


@pytest.mark.parametrize(
    "words",
    [
        ["host", "300.1.1.1"],
        ["host", "10.0.0.1", "-5"],
        ["assign", "a|b", "200"],
        ["assign", VIDEO, "200,200"],
        ["record", VIDEO, "200", "/x.ts", "--fps", "0"],
        ["playlist", VIDEO, "cif"],
        [],
    ],
)
def test_wrong_usage_is_told_before_anything_is_written(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert caught.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_the_sample_command(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _main(capsys, url, "sample", "--hosts", "2", "--videos", "3")
    assert (code, out[:18]) == (0, "2 hosts, 3 videos,")
    assert _main(capsys, url, "check")[0] == 0
