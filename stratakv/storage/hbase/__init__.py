"""Rows in HBase: a client of its own RPC, and what an engine is made of.

A table has one region for each group of slots. Rows of a group begin with its prefix, and one row
of it, the fence, says who may write. The client needs the extra `stratakv[hbase]`.

    engine        one group, written by this process: what a store stands on
    looking       a table that is only read, whoever serves it
    open_table    a table and the loop of its client, which groups share
    owner         the right to it: epochs, turns, and how long reads may be answered
    thread        the loop that the client lives on
    client        the front: reads, scans, snapshots, commits of one table
    table         making the table, and looking whether it can be trusted
    fences        who may write to a group: epochs and turns
    commits       what one turn wrote to one group, whole or not at all
    snapshots     a group as it was at one moment
    mutations     the one way to write
    scans         ranges, in pages, both ways
    gets          many rows in one call to each server
    calls         to the right server, again if need be
    locations     which server has which region
    servers       a connection to each server
    zookeeper     where to begin
    coordination  a session in which processes agree who owns what
    kazoo_threads  from kazoo's threads into the loop
    wire          one connection: frames out, answers in, in any order
    requests      what is asked, as messages
    groups        names of rows: which bytes belong to which group
    limits        how large, how long
    errors        what can go wrong, and what to do then
    counters      what was done, for the metrics
    messages_pb2  made of messages.proto
"""
