"""What keeps a store in order.

    reclaim          dead incarnations and dropped namespaces
    expiry           due keys and fields
    at_hand          steps over a store whose rows may be far away
    reencoding       a key at another encode-version
    expiry_times     how long keys have to live, and how many are over soon
    inspect          the rows of a key, for people
    digest           a number that stands for all data
    check            whether everything agrees
    check_streams    the same, of streams
    check_table      the same, of a table of an HBase
    damage           which keys a damaged file means
    recount          invariants made true again after a loss
    recount_streams  the same, of streams
    repair           a sound store out of a damaged one
"""
