"""The dump of a running server, as it sends one to a replica: the state of one moment.

Nothing of it is taken on trust: it is read to its end and its CRC while it is passed on.
"""

from collections.abc import Iterator
from typing import Final

from stratakv.encodings.layout.metas import NO_EXPIRY
from stratakv.encodings.rdb import files
from stratakv.encodings.rdb.crc64 import crc64
from stratakv.encodings.rdb.file_reader import Entry, FileReader
from stratakv.encodings.rdb.files import BadFile
from stratakv.encodings.rdb.parts import encode_length, encode_string
from stratakv.tools.links import LinkError
from stratakv.tools.replica_link import ReplicaLink
from stratakv.tools.selection import Selection

CHUNK_BYTES: Final = 1 << 16
LONGEST_STRING: Final = 512 << 20

Chunks = Iterator[tuple[bytes, int]]
"""Parts of a dump, with how many keys are in them by then."""


class Refused(Exception):
    """The server sends no dump; the text says why."""


def asked(source: str) -> ReplicaLink:
    """A connection on which the dump comes next; raises `Refused`."""
    link = ReplicaLink(source)
    try:
        link.ask_for_dump()
    except LinkError as error:
        link.close()
        raise Refused(str(error)) from None
    return link


def chunks(link: ReplicaLink, chosen: Selection) -> Chunks:
    """The dump that a server sends, or what was chosen of it; raises `OSError`."""
    try:
        yield from _whole(link) if chosen.is_everything else _part(link, chosen)
    except BadFile as error:
        raise LinkError(f"{link}: {error}") from None


def _whole(link: ReplicaLink) -> Chunks:
    """Byte for byte what was sent."""
    received = bytearray()
    done = 0

    def kept() -> Iterator[bytes]:
        for chunk in link.dump():
            received.extend(chunk)
            yield chunk

    file = FileReader(kept(), LONGEST_STRING, _no_pause)
    for entry in file.entries():
        _skip(file, entry)
        size = file.reader.position - done
        if size >= CHUNK_BYTES:
            yield bytes(received[:size]), file.keys
            del received[:size]
            done += size
    link.begin_stream(file.reader.rest())
    yield bytes(received[: file.reader.position - done]), file.keys


def _part(link: ReplicaLink, chosen: Selection) -> Chunks:
    """A dump of its own, of the keys that are meant."""
    crc = keys = 0
    file = FileReader(link.dump(), LONGEST_STRING, _no_pause)
    for part, keys in _parts(file, chosen):
        crc = crc64(part, crc=crc)
        yield part, keys
    link.begin_stream(file.reader.rest())
    yield crc.to_bytes(files.CRC_BYTES, "little"), keys


def _parts(file: FileReader, chosen: Selection) -> Chunks:
    database = -1
    keys = 0
    is_begun = False
    for entry in file.entries():
        if not is_begun:
            is_begun = True
            yield _head(file), 0
        if not chosen(entry.database, entry.key):
            _skip(file, entry)
            continue
        keys += 1
        head = b""
        if entry.database != database:
            database = entry.database
            head = bytes((files.SELECT,)) + encode_length(database)
        if entry.expire_ms != NO_EXPIRY:
            head += bytes((files.EXPIRE_MS,)) + entry.expire_ms.to_bytes(8, "little")
        file.reader.record()
        _skip(file, entry)
        body = file.reader.recorded()
        yield head + bytes((entry.kind,)) + encode_string(entry.key) + body, keys
    if not is_begun:
        yield _head(file), 0
    yield bytes((files.END,)), keys


def _head(file: FileReader) -> bytes:
    """What the server tells of itself, but nothing of its replication: this is no copy of it."""
    head = files.MAGIC + b"%04d" % file.version
    for name, value in file.facts.items():
        if not name.startswith(b"repl-"):
            head += bytes((files.AUX,)) + encode_string(name) + encode_string(value)
    return head


def _skip(file: FileReader, entry: Entry) -> None:
    if entry.kind in (files.OLD_MODULE, files.MODULE):
        file.module_of(entry)
    else:
        file.skip(entry)


def _no_pause() -> None:
    """Nobody waits."""
