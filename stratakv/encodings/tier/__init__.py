"""What the Redis tier knows of hashes, sets and sorted sets.

    cached_reads  reads of hashes and sets, and the access to an entry
    zset_orders   the order of sorted sets v1 to v3
    zset_rebuild  making a lost order again, once for all who wait
    dead_scores   deleting the scores of dead sorted sets v3
"""
