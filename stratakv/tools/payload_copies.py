"""What stands in a dump, as RESTORE and FUNCTION RESTORE take it."""

from stratakv.encodings.rdb import files, payloads, skipping
from stratakv.encodings.rdb.chunk_reader import ChunkReader
from stratakv.encodings.rdb.parts import encode_string


def object_payload(reader: ChunkReader, kind: int) -> bytes:
    """The object that is next in a dump, as it stands there."""
    reader.record()
    skipping.skip_object(reader, kind)
    return payloads.sealed(kind, reader.recorded())


def library_payload(codes: list[bytes]) -> bytes:
    """Libraries of functions. Requires: there is one."""
    first, *rest = [bytes((files.LIBRARY,)) + encode_string(code) for code in codes]
    return payloads.sealed(first[0], first[1:] + b"".join(rest))
