"""Redis's dump format: what DUMP gives and RESTORE takes, and whole dumps.

    loading             a dump in place of all databases: `Load.run`, `put_in_place`, `drop`
    file_writer         a dump of all databases: `FileWriter.chunks`
    file_reader         a dump key by key: `FileReader.entries`, `take`, `skip`
    files               the format of whole dumps, and `BadFile`
    skipping            past what a key holds
    chunk_reader        lengths and strings from chunks as they arrive
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
