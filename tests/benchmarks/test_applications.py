"""The applications' workloads send what the applications send, and real servers take all of it."""

import shutil
from collections import Counter
from collections.abc import Iterator

import hiredis
import pytest

from benchmarks.applications import APPLICATIONS
from benchmarks.lanes import Spec, lanes
from benchmarks.listener import Listener
from benchmarks.sample import Unavailable
from benchmarks.servers import Server, redis_server, running, stratakv
from benchmarks.shapes import SHAPES
from benchmarks.workloads import Options, select
from benchmarks.workloads.model import flush
from benchmarks.workloads.shaped import APPLICATIONS as COMMANDS_PER_STEP
from examples.momentry.keys import Keys
from examples.momentry.store import JobStore
from examples.momentry.store import connect as connect_momentry
from examples.transcode.store import Tracker
from examples.transcode.store import connect as connect_transcode

pytestmark = pytest.mark.skipif(not shutil.which("redis-server"), reason="needs redis-server")
NAMES = [application.__name__ for application in APPLICATIONS]


@pytest.fixture(scope="module", params=[redis_server, stratakv])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with running([request.param()]) as (one,):
        yield one


def commands(name: str, steps: int, connections: int = 1) -> list[list[bytes]]:
    reader = hiredis.Reader()
    for lane in lanes(Spec(name, steps, keys=50, connections=connections)):
        for step in SHAPES[name](lane):
            reader.feed(b"".join(step))
    return list(iter(reader.gets, False))


def send(server: Server, name: str, steps: int) -> Counter[str]:
    """Run a stream on one connection; how often each command was in it."""
    flush(server)
    sent = commands(name, steps)
    with server.client() as client:
        for reply in client.pipeline([tuple(command) for command in sent]):
            results = reply if isinstance(reply, list) else [reply]
            assert not [one for one in results if isinstance(one, hiredis.ReplyError)]
    return Counter(command[0].decode() for command in sent)


@pytest.mark.parametrize("name", NAMES)
def test_no_command_is_refused_not_even_inside_a_transaction(server: Server, name: str) -> None:
    sent = send(server, name, steps=40)
    assert sent["EXEC"] == sent["MULTI"]


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_of_a_step_are_counted_right(name: str) -> None:
    per_step = len(commands(name, steps=240)) / 240
    assert per_step == pytest.approx(COMMANDS_PER_STEP[name], rel=0.1)


def test_the_transcoding_tracker_reads_what_its_workload_wrote(server: Server) -> None:
    send(server, "transcode", steps=30)
    with connect_transcode(f"redis://127.0.0.1:{server.port}") as client:
        tracker = Tracker(client)
        assert tracker.malformed() == []
        videos = tracker.videos().videos
        counts = [len(tracker.fragments(video, 400).fragments) for video in videos]
    assert sorted(counts) == [6, 12, 12]


def test_the_job_monitor_reads_what_its_workload_wrote(server: Server) -> None:
    with Listener(server, Keys().progress_pattern()) as listener:
        send(server, "momentry", steps=20)
        with connect_momentry(f"redis://127.0.0.1:{server.port}") as client:
            (uuid,) = {key.split(":")[2] for key in client.scan_iter("momentry:job:*")}
            state = JobStore(client, Keys()).state(uuid)
    assert listener.heard > 0
    assert state.job is not None
    assert not state.malformed
    assert len(state.cpu) == 20


def test_a_listener_that_hears_nothing_says_so(server: Server) -> None:
    with pytest.raises(Unavailable, match="no message came"), Listener(server, "nothing:*"):
        pass


def test_rankings_end_at_a_thousand_and_both_row_orders_are_the_same_length(server: Server) -> None:
    send(server, "shop_index", steps=60)
    with server.client() as client:
        ranking = "itemindex_2013-11-11_16_all_sales_mon"
        assert 0 < client.call("ZCARD", ranking) <= 1000
    send(server, "flume_metrics", steps=13)
    with server.client() as client:
        by_log = [
            client.call("ZCARD", f"flume_logid_datatime_machine_port_metrics:5s:rows:{logid}")
            for logid in ("0000000007", "0000000008", "0000000009", "0000000012")
        ]
        names = client.call("KEYS", "flume_machine_port_datatime_logid_metrics:5s:rows:*")
        assert by_log == [13] * 4
        assert [client.call("ZCARD", name) for name in names] == [52]


def test_each_application_is_a_workload_case_with_and_without_pipeline() -> None:
    (workload,) = select("short", ["applications"], Options())
    names = [name.replace("_", "-") for name in NAMES]
    assert [case.name for case in workload.cases] == [f"{n}-p{d}" for n in names for d in (1, 16)]
