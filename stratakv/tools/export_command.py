"""`stratakv export`: a dump that Redis loads, of a data directory or of a running server."""

import argparse
import os
import time
from contextlib import closing
from itertools import chain, groupby
from pathlib import Path
from typing import Any, cast

from stratakv.clock import Clock
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.layout.metas import NO_EXPIRY
from stratakv.encodings.rdb import files, payloads
from stratakv.encodings.rdb.crc64 import crc64
from stratakv.encodings.rdb.file_writer import FileWriter, facts
from stratakv.encodings.rdb.parts import encode_length, encode_string
from stratakv.storage.contract import EmbeddedEngine
from stratakv.storage.engines import open_directory
from stratakv.storage.store import Store
from stratakv.tools import selection, server_dump, server_keys
from stratakv.tools.links import Link, is_address
from stratakv.tools.progress import Bar, bar
from stratakv.tools.selection import Selection
from stratakv.tools.server_dump import Chunks, Refused
from stratakv.tools.server_keys import ServerKey
from stratakv.tools.stopping import obey_sigterm


def declare(commands: Any) -> None:
    """The subcommand and its options."""
    parser = commands.add_parser(
        "export",
        help="write a dump that Redis loads",
        description="Write a dump that Redis loads: of a data directory that no server uses, or of"
        " a running server, as it sends one to a replica: the state of one moment. A server that"
        " refuses that is asked for its keys one by one.",
    )
    parser.add_argument("source", metavar="DIR|URL", help="a data directory, or redis://host:port")
    parser.add_argument("target", metavar="DUMP", help="the file to write; one that exists is left")
    selection.declare(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """0 when the dump is there, whole."""
    obey_sigterm()
    target = Path(parsed.target)
    if target.exists():
        raise OSError(f"{target} exists")
    temporary = target.with_name(f"{target.name}.{os.getpid()}.part")
    chosen = selection.chosen(parsed)
    work = _of_server if is_address(parsed.source) else _of_directory
    try:
        with temporary.open("xb") as file:
            keys = 0
            for chunk, keys in work(parsed.source, chosen):  # noqa: B007  # the last is the total
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except KeyboardInterrupt:
        print("stopped: nothing was written")
        return 130
    finally:
        temporary.unlink(missing_ok=True)
    print(f"{keys} keys exported to {target}")
    return 0


def _of_directory(source: str, chosen: Selection) -> Chunks:
    engine = cast("EmbeddedEngine", open_directory(Path(source)))
    with closing(engine):
        keyspace = Keyspace(Store(engine), Clock())
        snapshot = engine.snapshot()
        told = facts(keyspace.clock.now_ms, 0)
        writer = FileWriter(keyspace, snapshot, _no_pause, told=told, wants=chosen)
        with closing(snapshot), bar("exporting", writer.total, "keys") as shown:
            for chunk in writer.chunks():
                yield chunk, writer.keys
                shown.move(writer.keys, writer.keys)


def _no_pause() -> None:
    """Nobody waits."""


def _of_server(source: str, chosen: Selection) -> Chunks:
    try:
        dump = server_dump.asked(source)
    except Refused as refusal:
        print(f"{refusal}; so keys are read one by one, and are not all of the same moment")
        yield from _key_by_key(source, chosen)
        return
    with closing(Link(source)) as link:
        total = server_keys.count(link, chosen)
    with closing(dump), bar("exporting", total, "keys") as shown:
        for chunk, keys in server_dump.chunks(dump, chosen):
            yield chunk, keys
            shown.move(keys, keys)


def _key_by_key(source: str, chosen: Selection) -> Chunks:
    link = Link(source)
    crc = 0
    with closing(link), bar("exporting", server_keys.count(link, chosen), "keys") as shown:
        for chunk, keys in _parts(link, chosen, shown):
            crc = crc64(chunk, crc=crc)
            yield chunk, keys
        yield crc.to_bytes(files.CRC_BYTES, "little"), keys


def _parts(link: Link, chosen: Selection, shown: Bar) -> Chunks:
    found = server_keys.each(link, chosen)
    first = next(found, None)
    yield _head(link, chosen, payloads.VERSION if first is None else first.version), 0
    done = 0
    keys = chain(() if first is None else (first,), found)
    for database, some in groupby(keys, lambda one: one.database):
        yield bytes((files.SELECT,)) + encode_length(database), done
        for one in some:
            done += 1
            yield _entry(one), done
            shown.move(done, done)
    yield bytes((files.END,)), done


def _head(link: Link, chosen: Selection, version: int) -> bytes:
    """All that comes before the keys."""
    head = files.MAGIC + b"%04d" % version
    for name, value in facts(int(time.time() * 1000), 0).items():
        head += bytes((files.AUX,)) + encode_string(name.encode()) + encode_string(value.encode())
    if chosen.is_everything:
        head += server_keys.libraries(link)[: -payloads.FOOTER_BYTES]
    return head


def _entry(one: ServerKey) -> bytes:
    head = b""
    if one.expire_ms != NO_EXPIRY:
        head = bytes((files.EXPIRE_MS,)) + one.expire_ms.to_bytes(8, "little")
    return head + bytes((one.kind,)) + encode_string(one.key) + one.body
