"""What the server does by itself between the turns.

    backups       copies of the data directory
    compaction    ranges of the store, at an operator's wish
    disk_limit    how much that may take: maxdisk-bytes
    housekeeping  expiry, reclaiming, syncing, idle clients
    reencode_job  moving many keys to another encode-version
    saving        dumps that Redis loads: SAVE and BGSAVE
    tenancy       namespaces of users
    tier_control  connecting and exchanging the Redis tier
"""
