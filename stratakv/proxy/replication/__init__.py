"""Replication: a stream of what is written, from one server to others.

    replication     the server's place: master or replica
    feed            the stream, its ids and its offset
    backlog         its last bytes
    replicas        who is sent the stream
    full_sync       everything, for a replica that begins
    waits           WAIT
    failover        FAILOVER
    master_link     the connection to the master
    handshake       what is said before the stream
    dump_load       everything, from a master
    master_session  the stream of a master, applied
"""
