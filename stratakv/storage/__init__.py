"""Ordered bytes: engines and the commit pipeline.

    contract     what an engine promises
    engines      which engines there are, and how they are opened
    missing      what is not at hand, and how a command says so
    store        groups of writes, read back before they are written
    threads      who works on an engine beside the loop
    journal      the names of rows written lately
    row_cache    rows that were read lately
    queue_heads  where the live rows of a queue begin
    memory       an engine without a disk
    leveldb      the embedded engine
    hbase        the rows of a cluster: a client, on which an engine is to stand
    cache        a Redis in front of the store
"""
