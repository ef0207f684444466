"""What stored bytes mean: every row and value is built and read here.

    rows      the names of rows
    digests   md5
    formats   what key-types and encode-versions mean
    metas     the key-meta, one row per key
    positions  where the stream of replication stands
    tenant_records  namespaces of users
    numbers   integers, doubles and long doubles as Redis reads and prints them
    globs     Redis's patterns
    policies  encode-versions and caching by key pattern
"""
