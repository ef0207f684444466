"""Pub/Sub without subscribers; those are in tests/commands/test_pubsub.py."""

TABLE = """
PUBLISH key value
SPUBLISH key value
PUBSUB CHANNELS [pattern]
PUBSUB SHARDCHANNELS [pattern]
PUBSUB NUMSUB
PUBSUB NUMSUB key...
PUBSUB SHARDNUMSUB
PUBSUB SHARDNUMSUB key...
PUBSUB NUMPAT
PUBSUB 'foo
"""
