"""What the server tells of itself.

    stats       the counters
    client_lines  a client in a line
    latency     the slowest moments
    hotkeys     the keys that are used most
    memory      own and mapped memory
    info        INFO
    tier_info   INFO's section Cache
    replication_info  the same of replication
    metrics     the HTTP port
    exposition  the page for Prometheus, in slices
    collectors  what is on it
    replication_metrics  the same of replication
"""
