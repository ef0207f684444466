"""INFO replication: Redis's fields, and why the link to the master is down."""

import time
from typing import TYPE_CHECKING, Any

from stratakv.encodings.layout.positions import NO_ID

if TYPE_CHECKING:
    from stratakv.proxy.replication.master_link import MasterLink
    from stratakv.proxy.server import Server

Fields = dict[str, Any]


def fields(server: "Server") -> Fields:
    """The section."""
    replication = server.replication
    feed = replication.feed
    position, backlog = feed.position, feed.backlog
    link = replication.link
    shown: Fields = {"role": "master" if link is None else "slave"}
    if link is not None:
        shown |= _master(server, link)
    shown["connected_slaves"] = len(replication.replicas)
    shown |= _replicas(server)
    return {
        **shown,
        "master_failover_state": replication.failover.state,
        "master_replid": position.id.decode(),
        "master_replid2": (position.second_id or NO_ID).decode(),
        "master_repl_offset": position.offset,
        "second_repl_offset": position.second_offset,
        "repl_backlog_active": int(backlog is not None),
        "repl_backlog_size": server.options.repl_backlog_size,
        "repl_backlog_first_byte_offset": 0 if backlog is None else backlog.start + 1,
        "repl_backlog_histlen": 0 if backlog is None else backlog.size,
    }


def memory(server: "Server") -> Fields:
    """What INFO memory tells of the stream: its last bytes, and what replicas have not read."""
    backlog = server.replication.feed.backlog
    kept = 0 if backlog is None else backlog.size
    unread = sum(one.session.connection.unsent for one in server.replication.replicas.all())
    return {"mem_replication_backlog": kept, "mem_total_replication_buffers": kept + unread}


def loading(server: "Server") -> Fields:
    """What INFO persistence tells of a full sync that is loaded beside the data that is served."""
    link = server.replication.link
    dump = None if link is None else link.dump
    shown: Fields = {"loading": 0, "async_loading": int(dump is not None)}
    if dump is not None:
        seconds = time.time() - dump.began
        speed = max(1.0, dump.read_bytes / max(seconds, 0.001))
        shown |= {
            "loading_start_time": int(dump.began),
            "loading_total_bytes": dump.length,
            "loading_loaded_bytes": dump.read_bytes,
            "loading_loaded_perc": f"{dump.share:.2f}",
            "loading_eta_seconds": int(max(0, dump.length - dump.read_bytes) / speed),
        }
    return shown


def _master(server: "Server", link: "MasterLink") -> Fields:
    now = time.monotonic()
    dump, options = link.dump, server.options
    shown: Fields = {
        "master_host": link.address.host,
        "master_port": link.address.port,
        "master_link_status": "up" if link.is_up else "down",
        "master_last_io_seconds_ago": int(now - link.last_io) if link.is_up else -1,
        "master_sync_in_progress": int(link.state == "sync"),
        "slave_read_repl_offset": link.read_offset,
        "slave_repl_offset": server.replication.feed.sent,
    }
    if dump is not None:
        shown |= {
            "master_sync_total_bytes": dump.length,
            "master_sync_read_bytes": dump.read_bytes,
            "master_sync_left_bytes": max(0, dump.length - dump.read_bytes),
            "master_sync_perc": f"{dump.share:.2f}",
            "master_sync_last_io_seconds_ago": int(now - dump.last_io),
        }
    if not link.is_up:
        shown["master_link_down_since_seconds"] = int(now - link.down_since)
        shown["master_link_error"] = link.reason
    return {
        **shown,
        "slave_priority": options.replica_priority,
        "slave_read_only": int(options.replica_read_only),
        "replica_announced": 1,
    }


def _replicas(server: "Server") -> Fields:
    shown: Fields = {}
    replicas = server.replication.replicas
    if server.options.min_replicas_to_write and server.options.min_replicas_max_lag:
        shown["min_slaves_good_slaves"] = replicas.good
    for number, one in enumerate(replicas.all()):
        shown[f"slave{number}"] = (
            f"ip={one.address},port={one.port},state={one.state},offset={one.acknowledged},"
            f"lag={one.lag_seconds}"
        )
    return shown
