"""The job monitor: its formats, its keys and their lives, its view and its command line."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from examples.momentry import cli, model, view
from examples.momentry.board import Board
from examples.momentry.keys import Keys, prefix_from_environment
from examples.momentry.model import (
    PROCESSORS,
    Job,
    Kind,
    Malformed,
    Message,
    Processor,
    Status,
)
from examples.momentry.monitor import Monitor, show_live, show_once
from examples.momentry.store import JobStore, Refused, connect
from examples.momentry.worker import Worker, sample_videos, uuid_of
from tests.harness.servers import ROOT
from tests.harness.waiting import HANG_S, wait_until

UUID = "5dea6618a606e7c7"
KEYS = Keys()
MESSAGE_JSON = (
    '{"type": "progress", "processor": "yolo", "timestamp": 1700000000, '
    '"data": {"message": "Processing frame 5000", "current": 5000, "total": 14315}}'
)
MESSAGE = Message(Kind.PROGRESS, "yolo", 1700000000, "Processing frame 5000", 5000, 14315)
JOB = Job(
    uuid=UUID,
    video_path="/path/to/video.mp4",
    status=Status.RUNNING,
    current_processor="yolo",
    progress_total=70,
    progress_current=50,
    started_at=1700000000,
    updated_at=1700000100,
)
PROCESSOR = Processor("yolo", Status.RUNNING, 10000, 14315, 1700000000, 1700000100)

# -- formats


def test_the_documents_message_round_trips() -> None:
    assert model.parse_message("c", MESSAGE_JSON) == MESSAGE
    assert MESSAGE.json() == MESSAGE_JSON


def test_the_documents_hashes() -> None:
    assert JOB.fields() == {
        "uuid": "5dea6618a606e7c7",
        "video_path": "/path/to/video.mp4",
        "status": "running",
        "current_processor": "yolo",
        "progress_total": 70,
        "progress_current": 50,
        "started_at": 1700000000,
        "updated_at": 1700000100,
        "error_count": 0,
        "last_error": "",
    }
    assert PROCESSOR.fields() == {
        "name": "yolo",
        "status": "running",
        "progress": 70,
        "current_frame": 10000,
        "total_frames": 14315,
        "started_at": 1700000000,
        "updated_at": 1700000100,
    }
    assert model.parse_job("k", _texts(JOB.fields())) == JOB
    assert model.parse_processor("k", _texts(PROCESSOR.fields())) == PROCESSOR


@pytest.mark.parametrize("prefix", ["momentry:", "momentry_dev:"])
def test_the_documents_keys(prefix: str) -> None:
    keys = Keys(prefix)
    assert keys.job(UUID) == f"{prefix}job:{UUID}"
    assert keys.processor(UUID, "yolo") == f"{prefix}job:{UUID}:processor:yolo"
    assert keys.jobs("active") == f"{prefix}jobs:active"
    assert keys.key("health:current") == f"{prefix}health:current"
    assert keys.metrics(UUID, "cpu") == f"{prefix}metrics:{UUID}:cpu"
    assert keys.uuid_of(keys.progress(UUID)) == UUID


def test_the_prefix_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOMENTRY_REDIS_PREFIX", raising=False)
    assert prefix_from_environment() == "momentry:"
    monkeypatch.setenv("MOMENTRY_REDIS_PREFIX", "momentry_dev:")
    assert prefix_from_environment() == "momentry_dev:"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"status": "walking"}, "status 'walking' is none of running, completed, failed"),
        ({"status": None}, "no field status"),
        ({"uuid": None}, "no field uuid"),
        ({"progress_total": "101"}, "progress_total 101 is above 100"),
        ({"progress_current": "-1"}, "progress_current '-1' is not a whole number"),
        ({"started_at": "1.7e9"}, "started_at '1.7e9' is not a whole number"),
        ({"error_count": "9" * 5000}, "error_count"),
        ({"current_processor": "ear"}, "processor 'ear' is none of yolo"),
    ],
)
def test_a_malformed_job_is_told_with_its_key(change: dict[str, str | None], reason: str) -> None:
    fields = {**_texts(JOB.fields()), **change}
    present = {name: text for name, text in fields.items() if text is not None}
    with pytest.raises(Malformed) as caught:
        model.parse_job(KEYS.job(UUID), present)
    assert str(caught.value).startswith(f"momentry:job:{UUID}: {reason}")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (MESSAGE_JSON, "", "not JSON"),
        (MESSAGE_JSON, "{", "not JSON"),
        (MESSAGE_JSON, "[" * 100000, "not JSON"),
        (MESSAGE_JSON, "[]", "the message is not an object"),
        (MESSAGE_JSON, "null", "the message is not an object"),
        ('"progress"', '"done"', "type 'done' is none of info, progress, complete, error"),
        ('"progress"', "{}", "type {} is none of"),
        ('"yolo"', '"ear"', "processor 'ear' is none of"),
        ('"yolo"', "[]", "processor [] is none of"),
        ("1700000000", '"now"', "timestamp 'now' is not a whole number"),
        ('"data": {', '"date": {', "data is not an object"),
        ('"Processing frame 5000"', "5", "message 5 is not a text"),
        (": 5000", ": -1", "current -1 is not a whole number"),
        (": 5000", ": true", "current True is not a whole number"),
        (": 14315", ": 1e99", "total 1e+99 is not a whole number"),
        (": 14315", ": NaN", "total nan is not a whole number"),
    ],
)
def test_a_malformed_message_is_told_with_its_channel(old: str, new: str, reason: str) -> None:
    with pytest.raises(Malformed) as caught:
        model.parse_message("momentry:progress:x", MESSAGE_JSON.replace(old, new, 1))
    assert str(caught.value).startswith(f"momentry:progress:x: {reason}")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "data", "processor", "current"]), inner)
    ),
)


@given(_JSON)
def test_any_json_is_parsed_or_reported(value: object) -> None:
    with suppress(Malformed):
        model.parse_message("c", json.dumps(value))


def test_percentages() -> None:
    assert [model.percent(n, 3) for n in range(4)] == [0, 33, 67, 100]
    assert model.percent(9999, 10000) == 99
    assert model.percent(0, 0) == 100
    assert model.total_progress("yolo", 0) == 0
    assert model.total_progress("asrx", 100) == 100
    assert model.total_progress("pose", 50) == 50


def _texts(fields: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in fields.items()}


# -- on a server


@pytest.fixture
def client(url: str) -> Iterator[redis.Redis]:
    with connect(url) as connected:
        yield connected


@pytest.fixture
def store(client: redis.Redis) -> JobStore:
    return JobStore(client, KEYS)


def _process(store: JobStore, video: str, fail_rate: float = 0.0) -> Job:
    return Worker(store, random.Random(1), fail_rate, clock=lambda: 1700000000.0).process(video)


def _start(store: JobStore, job: Job = JOB) -> None:
    store.start(job, replace(MESSAGE, kind=Kind.INFO))


def test_the_keys_of_a_job_have_the_documents_types_and_lives(
    store: JobStore, client: redis.Redis
) -> None:
    uuid = _process(store, "/videos/a.mp4").uuid
    day, hour = 24 * 3600, 3600
    expected = {
        "momentry:health:current": ("string", 60),
        "momentry:health:services": ("hash", 60),
        "momentry:stats:total_jobs": ("string", -1),
        "momentry:stats:processed_today": ("string", 86400),
        "momentry:stats:cpu:current": ("string", 10),
        "momentry:stats:memory:current": ("string", 10),
        "momentry:jobs:completed": ("set", -1),
        f"momentry:job:{uuid}": ("hash", day),
        f"momentry:job:{uuid}:status": ("string", day),
        f"momentry:result:{uuid}": ("hash", day),
        f"momentry:output:{uuid}": ("string", day),
        f"momentry:metrics:{uuid}:cpu": ("list", hour),
        f"momentry:metrics:{uuid}:memory": ("list", hour),
        f"momentry:metrics:{uuid}:duration": ("string", day),
        f"momentry:log:{uuid}": ("string", day),
    }
    for name in PROCESSORS:
        key = f"momentry:job:{uuid}:processor:{name}"
        expected[key] = ("hash", day)
        for part in ("status", "progress", "current", "total", "started_at"):
            expected[f"{key}:{part}"] = ("string", day)
    found = {key: (client.type(key), client.ttl(key)) for key in client.keys("*")}
    assert {key: kind for key, (kind, _) in found.items()} == {
        key: kind for key, (kind, _) in expected.items()
    }
    for key, (_, ttl) in expected.items():
        assert ttl - 10 <= found[key][1] <= ttl, key


def test_histories_keep_the_newest_hundred(store: JobStore, client: redis.Redis) -> None:
    for number in range(130):
        store.measure(UUID, number, number * 2)
    assert client.lrange(KEYS.metrics(UUID, "cpu"), 0, -1) == [
        f"{number}.0" for number in range(129, 29, -1)
    ]
    assert client.llen(KEYS.metrics(UUID, "memory")) == 100
    assert client.get("momentry:stats:cpu:current") == "129.0"
    assert store.state(UUID).cpu == [float(number) for number in range(30, 130)]


def test_a_days_counter_is_not_prolonged_by_later_jobs(
    store: JobStore, client: redis.Redis
) -> None:
    _process(store, "/a")
    client.expire("momentry:stats:processed_today", 50)
    _process(store, "/b", fail_rate=1.0)
    assert client.ttl("momentry:stats:processed_today") <= 50
    summary = store.summary()
    assert (summary.processed_today, summary.total_jobs) == (2, 2)


def test_health_that_is_not_renewed_is_gone(store: JobStore, client: redis.Redis) -> None:
    store.beat("healthy", {"stratakv": "ok", "old": "ok"})
    store.beat("degraded", {"stratakv": "slow"})
    assert (store.summary().health, store.summary().services) == ("degraded", {"stratakv": "slow"})
    client.pexpire("momentry:health:current", 1)
    client.pexpire("momentry:health:services", 1)
    wait_until(lambda: (store.summary().health, store.summary().services) == (None, {}))


def test_a_job_moves_from_set_to_set(store: JobStore, client: redis.Redis) -> None:
    def sets() -> dict[str, set[str]]:
        return {
            name: {str(uuid) for uuid in client.smembers(KEYS.jobs(name))}
            for name in ("active", "completed", "failed")
        }

    _start(store)
    assert sets() == {"active": {UUID}, "completed": set(), "failed": set()}
    with pytest.raises(Refused, match="already active"):
        _start(store)
    failed = JOB.failed("no such frame", 1700000200)
    store.end(failed, PROCESSOR, replace(MESSAGE, kind=Kind.ERROR), {})
    assert sets() == {"active": set(), "completed": set(), "failed": {UUID}}
    state = store.state(UUID).job
    assert state is not None
    assert (state.error_count, state.last_error) == (1, "no such frame")
    with pytest.raises(Refused, match="not active"):
        store.end(failed, PROCESSOR, MESSAGE, {})
    _start(store)
    assert sets() == {"active": {UUID}, "completed": set(), "failed": set()}
    assert store.state(UUID).processors == {}
    store.end(replace(JOB, status=Status.COMPLETED), PROCESSOR, MESSAGE, {"yolo": "3"})
    assert sets() == {"active": set(), "completed": {UUID}, "failed": set()}
    assert client.get(KEYS.metrics(UUID, "duration")) == "100"


def test_a_job_is_in_one_set_at_every_moment(url: str, store: JobStore) -> None:
    """A reader looks at the sets in one MULTI, again and again, while jobs move."""
    done = threading.Event()
    seen: set[tuple[bool, ...]] = set()

    def look() -> None:
        with connect(url) as other:
            while not done.is_set():
                with other.pipeline() as pipe:
                    for group in ("active", "completed", "failed"):
                        pipe.sismember(KEYS.jobs(group), UUID)
                    seen.add(tuple(map(bool, pipe.execute())))

    _start(store)
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        for number in range(100):
            status = (Status.COMPLETED, Status.FAILED)[number % 2]
            store.end(replace(JOB, status=status), PROCESSOR, MESSAGE, {})
            _start(store)
        done.set()
        looking.result()
    assert seen
    assert all(sum(places) == 1 for places in seen)


def test_only_one_of_many_workers_starts_a_job(url: str, store: JobStore) -> None:
    def start(number: int) -> bool:
        with connect(url) as other:
            try:
                _start(JobStore(other, KEYS))
            except Refused:
                return False
            return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(start, range(16))) == 1
    assert store.summary().total_jobs == 1


def test_messages_arrive_after_their_state_and_only_within_the_prefix(
    url: str, store: JobStore, client: redis.Redis
) -> None:
    other = JobStore(client, Keys("momentry_dev:"))
    listener = store.listen()
    assert _next(listener)["type"] == "psubscribe"
    _start(other)
    _start(store)
    store.save(JOB, PROCESSOR, MESSAGE)
    heard = [_next(listener), _next(listener)]
    assert [frame["channel"] for frame in heard] == [f"momentry:progress:{UUID}"] * 2
    assert heard[1]["data"] == MESSAGE_JSON
    assert listener.get_message(timeout=0.1) is None
    assert store.state(UUID).processors == {"yolo": PROCESSOR}
    assert other.state(UUID).processors == {}
    listener.close()


def _next(listener: Any) -> Any:
    frame = listener.get_message(timeout=HANG_S)
    assert frame is not None
    return frame


def test_prefixes_share_a_server_without_touching_each_other(
    store: JobStore, client: redis.Redis
) -> None:
    _process(JobStore(client, Keys("momentry_dev:")), "/a")
    before = {key: client.dump(key) for key in client.keys("momentry_dev:*")}
    _process(store, "/a")
    assert {key: client.dump(key) for key in client.keys("momentry_dev:*")} == before
    assert len(client.keys("*")) == 2 * len(before)


def test_a_prefix_with_glob_characters_is_taken_literally(client: redis.Redis) -> None:
    starred, plain = JobStore(client, Keys("m*[a]:")), JobStore(client, Keys("mXa:"))
    listener = starred.listen()
    _next(listener)
    _start(plain)
    _start(starred)
    assert _next(listener)["channel"] == f"m*[a]:progress:{UUID}"
    listener.close()


def test_sweep_forgets_jobs_that_expired(store: JobStore, client: redis.Redis) -> None:
    kept, gone = _process(store, "/a").uuid, _process(store, "/b", fail_rate=1.0).uuid
    client.delete(KEYS.job(gone))
    assert store.sweep() == 1
    assert (store.uuids(Status.COMPLETED), store.uuids(Status.FAILED)) == ([kept], [])


def test_the_worker_repeats_itself_with_the_same_seed(store: JobStore, client: redis.Redis) -> None:
    videos = sample_videos(6, seed=4)
    assert videos == sample_videos(6, seed=4)

    def run() -> list[Job]:
        return [_process(store, video, fail_rate=0.5) for video in videos]

    first = run()
    assert run() == first
    assert {job.status for job in first} <= {Status.COMPLETED, Status.FAILED}


# -- the board and the view


def _board(store: JobStore) -> Board:
    board = Board(store)
    board.load()
    return board


def _picture(board: Board, width: int = 150, now: int = 1700000105) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(view.render(board, now, width))
    return console.export_text()


def test_a_board_that_starts_late_knows_what_one_that_was_there_knows(store: JobStore) -> None:
    early = _board(store)
    listener = store.listen()
    _start(store, replace(JOB, progress_total=0, progress_current=0))
    for frame in (0, 5000, 10000):
        processor = replace(PROCESSOR, current_frame=frame)
        job = JOB.at("yolo", processor.progress, 1700000100)
        store.save(job, processor, replace(MESSAGE, current=frame, timestamp=1700000100))

    def has_caught_up() -> bool:
        if (frame := listener.get_message(timeout=0.2)) and frame["type"] == "pmessage":
            early.hear(frame["channel"], frame["data"])
        return UUID in early.states and early.states[UUID].processors == {"yolo": PROCESSOR}

    wait_until(has_caught_up)
    listener.close()
    late = _board(store)
    assert early.states[UUID].job == late.states[UUID].job
    assert early.states[UUID].processors == late.states[UUID].processors == {"yolo": PROCESSOR}
    assert early.summary.active == 1


def test_a_message_older_than_the_keys_does_not_turn_progress_back(store: JobStore) -> None:
    _start(store)
    store.save(JOB.at("ocr", 10, 1700000100), replace(PROCESSOR, name="ocr"), MESSAGE)
    board = _board(store)
    before = board.states[UUID].job
    for late in (MESSAGE, replace(MESSAGE, processor="ocr", current=9999)):
        board.hear(KEYS.progress(UUID), late.json())
    assert board.states[UUID].job == before
    board.hear(KEYS.progress(UUID), replace(MESSAGE, processor="ocr", current=14315).json())
    assert board.states[UUID].job == JOB.at("ocr", 100, 1700000000)


def test_malformed_state_and_messages_are_shown_not_raised(
    store: JobStore, client: redis.Redis
) -> None:
    _start(store)
    client.hset(KEYS.job(UUID), "progress_total", b"\xff")
    client.set(KEYS.processor(UUID, "ocr"), "not a hash")
    client.rpush(KEYS.metrics(UUID, "cpu"), "warm")
    board = _board(store)
    assert board.hear(KEYS.progress(UUID), "\x1b[2J") is None
    picture = _picture(board)
    assert f"! momentry:job:{UUID}: progress_total '\\\\xff' is not a whole number" in picture
    assert f"! momentry:job:{UUID}:processor:ocr: " in picture
    assert "WRONGTYPE" in picture
    assert f"! momentry:metrics:{UUID}:cpu: a value is not a number" in picture
    assert f"! momentry:progress:{UUID}: not JSON" in picture
    assert "keys gone or malformed" in picture


def test_the_picture(store: JobStore) -> None:
    store.beat("healthy", {"stratakv": "ok"})
    job = replace(JOB, video_path="/videos/\x1b[31mred [bold]x.mp4")
    _start(store, job)
    store.save(job, PROCESSOR, MESSAGE)
    for cpu in (0, 50, 100):
        store.measure(UUID, cpu, 800)
    failed = _process(store, "/videos/b.mp4", fail_rate=1.0)
    picture = _picture(_board(store)).splitlines()
    assert picture[0].startswith("momentry: healthy stratakv=ok")
    assert "active 1  completed 0  failed 1  today 1  total 2" in picture[0]
    rows = {line.split()[0]: line for line in picture[2:4]}
    assert list(rows) == [UUID, failed.uuid]
    assert "?[31mred [bold]x.mp4" in rows[UUID]
    assert "▶yolo 70% ·ocr ·face ·pose ·cut ·asr ·asrx" in rows[UUID]
    assert "▁▅█" in rows[UUID]
    assert rows[UUID].rstrip().endswith("5s")
    assert "━━━" in rows[UUID]
    assert "✗" in rows[failed.uuid]
    assert "\x1b" not in "".join(picture)


@pytest.mark.parametrize("width", [80, 100, 150])
def test_the_progress_bar_is_there_in_every_width(store: JobStore, width: int) -> None:
    _start(store)
    store.save(JOB, PROCESSOR, MESSAGE)
    picture = _picture(_board(store), width).splitlines()
    (row,) = [line for line in picture if line.startswith(f" {UUID} ")]
    assert "━━━━━" in row
    assert " 70 " in row
    assert "yolo 70%" in row
    assert "video.mp4" in row
    assert row.rstrip().endswith("5s")


def test_the_live_view_redraws_on_a_terminal(url: str, store: JobStore) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=150, height=40)
    with connect(url) as other, ThreadPoolExecutor(1) as pool:
        work = pool.submit(_process, JobStore(other, KEYS), "/videos/a.mp4")
        show_live(Board(store), console, until_idle_s=0.5)
        uuid = work.result().uuid
    drawn = screen.getvalue()
    assert drawn.count(f"{uuid}") > 1
    assert "job completed" in drawn
    assert "✓asrx" in drawn[drawn.rindex("processors") :]


def test_a_monitor_that_loses_its_connection_reads_what_it_missed(
    url: str, store: JobStore
) -> None:
    """The subscriber is cut, the job goes on, and the monitor ends with the right state."""
    board = _board(store)
    heard: list[Message] = []
    is_saved = threading.Event()
    _start(store)

    def interfere(uuid: str, message: Message) -> None:
        heard.append(message)
        if len(heard) > 1:
            return
        assert is_saved.wait(HANG_S)
        with connect(url) as other:
            other.client_kill_filter(_type="pubsub")
            mine = JobStore(other, KEYS)
            done = replace(JOB.at("asrx", 100, 1700000300), status=Status.COMPLETED)
            mine.end(
                done, replace(PROCESSOR, name="asrx"), replace(MESSAGE, kind=Kind.COMPLETE), {}
            )

    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(Monitor(board, heard=interfere).run, 1.0)

        def is_heard() -> bool:
            store.save(JOB, PROCESSOR, MESSAGE)
            return bool(heard)

        wait_until(is_heard)
        is_saved.set()  # nothing is written over the end of the job
        run.result(timeout=HANG_S)
    state = board.states[UUID].job
    assert state is not None
    assert (state.status, board.summary.active) == (Status.COMPLETED, 0)


def test_sparklines_and_ages() -> None:
    assert view.sparkline([0, 100, 250, -5]) == "▁██▁"
    assert len(view.sparkline([1] * 100)) == view.SPARK_WIDTH
    assert [view.age(seconds) for seconds in (-1, 59, 60, 7199, 7200)] == [
        "0s",
        "59s",
        "1m",
        "1h",
        "2h",
    ]


def test_show_once(store: JobStore) -> None:
    uuid = _process(store, "/videos/a.mp4").uuid
    console = Console(width=150, file=io.StringIO(), record=True)
    show_once(Board(store), console)
    assert f" {uuid}  a.mp4" in console.export_text()


# -- the command line


def _spawn(url: str, *words: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "examples.momentry", "--url", url, *words],
        cwd=ROOT,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.application
def test_a_worker_and_a_monitor_on_the_command_line(url: str) -> None:
    dev = {"MOMENTRY_REDIS_PREFIX": "momentry_dev:", "PYTHONIOENCODING": "utf-8"}
    worker = _spawn(url, "work", "--jobs", "3", "--seed", "2", "--step-ms", "2", **dev)
    with connect(url) as client:
        started = JobStore(client, Keys("momentry_dev:"))
        wait_until(lambda: started.summary().total_jobs, "the worker starts no job")
    monitor = _spawn(url, "monitor", "--until-idle", "4", "--width", "150", **dev)
    worked, worker_errors = worker.communicate(timeout=HANG_S)
    watched, monitor_errors = monitor.communicate(timeout=HANG_S)
    assert (worker.returncode, monitor.returncode) == (0, 0), worker_errors + monitor_errors
    jobs = [line.split() for line in worked.splitlines()]
    assert sorted(job[2] for job in jobs) == sorted(sample_videos(3, seed=2))
    with connect(url) as client:
        store = JobStore(client, Keys("momentry_dev:"))
        ended = {uuid for status in Status for uuid in store.uuids(status)}
        assert ended == {job[0] for job in jobs} == {uuid_of(job[2]) for job in jobs}
        assert client.keys("momentry:*") == []
        assert store.summary().active == 0
    picture = watched[watched.rindex("momentry_dev: ") :]
    assert "active 0" in picture
    for uuid, status, *_ in jobs:
        assert uuid in picture
        assert status in {"completed", "failed"}


def _main(capsys: pytest.CaptureFixture[str], url: str, *words: str) -> tuple[int, str, str]:
    code = cli.main(["--url", url, *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_operators_commands(
    url: str, store: JobStore, client: redis.Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    _start(store)
    assert _main(capsys, url, "fail", UUID, "host gone") == (0, f"{UUID} failed host gone\n", "")
    assert client.smembers("momentry:jobs:failed") == {UUID}
    assert _main(capsys, url, "fail", UUID) == (1, "", f"error: no running job {UUID}\n")
    client.delete(KEYS.job(UUID))
    assert _main(capsys, url, "sweep") == (0, "1 jobs forgotten\n", "")
    code, out, _ = _main(capsys, url, "--prefix", "other:", "monitor", "--once")
    assert (code, out[:22]) == (0, "other: no sign of life")


@pytest.mark.parametrize(
    "words",
    [[], ["work", "--jobs", "0"], ["work", "--fail-rate", "2"], ["monitor", "--width", "x"]],
)
def test_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert caught.value.code == 2
    assert "error: " in capsys.readouterr().err
