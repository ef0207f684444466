"""Redis's dump format: what DUMP gives and RESTORE takes.

    payloads            version and checksum around a value
    parts               lengths and strings
    reader              a key from a payload
    writer              a payload from a key
    rdb_streams         streams in payloads
    packed              the compact forms of small collections
    lzf                 compressed strings
    crc64               the checksum
    function_libraries  libraries of functions, stored and dumped
"""
