"""Keys, versions, and units of work on them.

    keyspace     databases, counts and the cache of decoded metas
    txn          what a command sees, and where its writes wait
    long_txn     a Txn over a snapshot that can pause
    locks        locks on keys, held by long commands
    watchers     who wants to know that a key has changed
    cursors      where HSCAN, SSCAN and ZSCAN go on
    hits         how many keys were looked for and found
    tier_state   what of the Redis tier may be believed
    zset_remote  sorted sets v3, whose scores are in Redis
    zset_marks   the mark of a store in the Redis of its scores
"""
