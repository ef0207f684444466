"""What the arguments of commands mean.

    args            the cursor, and numbers as Redis reads them
    expiry          expire-times, relative or absolute
    scanning        SCAN and its kin
    pop_options     LMPOP and ZMPOP
    zset_options    sorted sets
    geo_options     searches
    stream_options  streams
"""
