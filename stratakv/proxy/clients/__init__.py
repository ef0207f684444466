"""Who is connected, and what the server knows of each.

    listeners      the sockets at which they connect
    tls            certificates and ciphers, as the options say
    handshakes     what comes before at a TLS port, and may never end
    connection     the socket, and its flow control
    session        what is known between two commands
    realms         what the clients of a namespace share
    logins         who each of them is
    limits         clients that do not read
    client_memory  what clients take of memory, and maxmemory-clients
    transactions   MULTI and WATCH of a session
    pubsub         who listens to which channels
    notifications  what happened to keys, for those who listen
    untouched      clients whose reading is no use of a key
    tracking_tables  what is known of copies within one realm
    tracking       who has copies of which keys, and is told when they change
"""
