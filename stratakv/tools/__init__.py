"""What moves data in and out, and looks at two servers at once: commands of the command line.

    export_command    `stratakv export`
    import_command    `stratakv import`
    compare_command   `stratakv compare`
    outcomes          what became of the keys of an import
    taking_over       the dump that a Redis has left, at the first start
    backup_command    `stratakv backup` and `stratakv restore`
    into_directory    a dump into a data directory
    into_server       keys into a running server, by RESTORE
    live              a server that is copied, then followed
    replica_link      what a server sends to its replicas
    payload_copies    what stands in a dump, as RESTORE takes it
    server_dump       the dump of a running server, as its replicas get it
    server_keys       the keys of a running server, as a dump has them
    comparison        the keys of two servers, one by one
    selection         which keys are meant
    places            where an import goes on after it was stopped
    progress          bars, speed and the time that is left
    stopping          SIGTERM as Ctrl-C
    links             a connection to a server that waits for its replies
"""
