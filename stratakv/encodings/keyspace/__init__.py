"""Keys, versions, and units of work on them.

    keyspace       all databases over one store, and their commit
    database       a namespace, its counts and its cached metas
    namespaces     which database has which, and which were dropped
    tenants        namespaces of users, with databases of their own
    versions       numbers for the incarnations of keys
    meta_cache     the limit of the cache of decoded metas
    frequencies    how often keys are used
    key_filter     which keys a database may have
    plain_strings  which keys that are not cached are strings, so that SET need not look
    leftovers      what is too much to be freed at once
    sparse_ranges  where many rows were deleted
    recollections  what is remembered of collections
    ranks          what is known of the order of sorted sets
    rank_directory  where so many members have passed, of a large one
    small_orders   the whole order, of small ones
    own_times      expire-times that clients of a replica have set
    limits         what the options ask for
    invariants     whether all this holds between two turns
    txn            what a command sees, and where its writes wait
    txns           the Txns that sessions share
    long_txn       a Txn over a snapshot that can pause
    measured_txn   a Txn for a store that takes no large commits
    load_txn       a LongTxn that fills a namespace which is nobody's yet
    locks          locks on keys, held by long commands
    watchers       who wants to know that a key has changed
    cursors        where HSCAN, SSCAN and ZSCAN go on
    hits           how many keys were looked for and found
    tier_state     what of the Redis tier may be believed
    zset_remote    sorted sets v3, whose scores are in Redis
    zset_marks     the mark of a store in the Redis of its scores
"""
