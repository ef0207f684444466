"""Ordered bytes: engines and the commit pipeline.

    contract     what an engine promises
    engines      which engines there are, and how they are opened
    missing      what is not at hand, and how a command says so
    store        groups of writes, read back before they are written
    remote_store  the same over an engine elsewhere
    at_hand      what was fetched from there for those who need it
    threads      who works on an engine beside the loop
    journal      the names of rows written lately
    row_cache    rows that were read lately
    queue_heads  where the live rows of a queue begin
    memory       an engine without a disk
    leveldb      the embedded engine
    tables       tables of an HBase, for the offline tools
    group_table   a table of which groups are opened one by one
    hbase        rows in an HBase: the engine, and the client that it stands on
    cache        a Redis in front of the store
"""
