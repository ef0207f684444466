"""The commands under differential test: one module per group, one line per command form.

To add a command, add its line to a table; `test_coverage` fails for a command of the server that
has no line.
"""

from __future__ import annotations

from typing import Final

from tests.differential.strategies import (
    bits,
    connection,
    dumping,
    expiry,
    geo,
    hashes,
    hyperloglog,
    keys,
    lists,
    pubsub,
    scripting,
    server,
    sets,
    sorting,
    streams,
    strings,
    transactions,
    zset_algebra,
    zset_ranges,
    zsets,
)

GROUPS: Final[dict[str, str]] = {
    "strings": strings.TABLE,
    "bits": bits.TABLE,
    "hashes": hashes.TABLE,
    "dumping": dumping.TABLE,
    "geo": geo.TABLE,
    "hyperloglog": hyperloglog.TABLE,
    "sets": sets.TABLE,
    "zsets": zsets.TABLE,
    "zset_ranges": zset_ranges.TABLE,
    "zset_algebra": zset_algebra.TABLE,
    "lists": lists.TABLE,
    "streams": streams.TABLE,
    "keys": keys.TABLE,
    "expiry": expiry.TABLE,
    "sorting": sorting.TABLE,
    "connection": connection.TABLE,
    "server": server.TABLE,
    "pubsub": pubsub.TABLE,
    "scripting": scripting.TABLE,
    "transactions": transactions.TABLE,
}

# Every group also draws from these, so that each command meets each type of key, and keys that
# expire.
POPULATE: Final = """
SET key value
HSET key {field value}...
SADD key member...
ZADD key {score member}...
SADD key '1 '2 '3
RPUSH key '3 '1 '2 '1
ZADD key '1 'a '2 'b '3 'c '2 'exactly-15-byte
PEXPIRE key millis
"""
