"""What the server does by itself between the turns.

    backups       copies of the data directory
    compaction    ranges of the store, at an operator's wish
    disk_limit    how much that may take: maxdisk-bytes
    ending        how the server ends: SHUTDOWN and signals
    housekeeping  expiry, reclaiming, syncing, idle clients
    memory_limit  how much the process takes of memory: maxmemory
    oom_score     whom the system ends first
    reencode_job  moving many keys to another encode-version
    saving        dumps that Redis loads: SAVE and BGSAVE
    tenancy       namespaces of users
    uses          whether uses of keys are counted
    tier_control  connecting and exchanging the Redis tier
"""
