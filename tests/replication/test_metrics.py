"""What the metrics page tells of masters and replicas."""

from __future__ import annotations

from pathlib import Path

from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.proxy.test_metrics import samples
from tests.replication.fleet import follow, info


def _plain(server: StrataServer) -> dict[str, float]:
    return {name: value for (name, labels), value in samples(server).items() if not labels}


def test_both_sides_are_told(tmp_path: Path) -> None:
    leader = StrataServer(tmp_path / "one").start()
    follower = StrataServer(tmp_path / "two").start()
    assert _plain(leader)["stratakv_connected_replicas"] == 0
    follow(follower, leader)
    with leader.client() as client:
        client.send("SET", "k", "v" * 1000)
        assert client.send("WAIT", 1, 0).frame.number == 1
        shown, told = samples(leader), info(client)
    label = (("replica", f"127.0.0.1:{follower.port}"),)
    assert shown["stratakv_replication_role", (("role", "master"),)] == 1
    assert shown["stratakv_connected_replicas", ()] == 1
    assert shown["stratakv_full_syncs_total", ()] == 1
    assert shown["stratakv_partial_syncs_total", ()] == 0
    assert shown["stratakv_replica_behind_bytes", label] >= 0
    assert shown["stratakv_replica_lag_seconds", label] >= 0
    assert 1000 < shown["stratakv_replication_backlog_bytes", ()] <= int(told["repl_backlog_size"])
    assert 0 < shown["stratakv_replication_offset", ()] <= int(told["master_repl_offset"])
    assert "stratakv_master_link_up" not in _plain(leader)
    seen = samples(follower)
    assert seen["stratakv_replication_role", (("role", "replica"),)] == 1
    assert seen["stratakv_master_link_up", ()] == 1
    assert seen["stratakv_master_link_down_seconds", ()] == 0
    leader.stop()
    wait_until(lambda: _plain(follower)["stratakv_master_link_up"] == 0)
    assert _plain(follower)["stratakv_master_link_down_seconds"] >= 0
    follower.stop()
