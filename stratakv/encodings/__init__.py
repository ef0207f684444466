"""Data types: the stored layout and the operations on it. No sockets, no RESP, no plyvel.

Rooms, each of which knows only those above it:

    layout    what stored bytes mean
    keyspace  keys, versions, units of work on them
    tier      what the Redis tier knows of collections
    types     the operations, one room a type
    rdb       Redis's dump format
    upkeep    reclaiming, checking, repairing, re-encoding
"""
