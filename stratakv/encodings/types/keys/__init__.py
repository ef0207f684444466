"""Keys of any type.

    keys     expire-times, the walk over the keyspace, encodings by name
    copying  COPY, RENAME, MOVE
    sorting  SORT
    sizes    bytes in the store
"""
