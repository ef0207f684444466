"""Clients: sockets, RESP, sessions, dispatch and the commands.

`server` puts the rooms together. Each knows only those above it:

    wire       bytes in, requests out; values in, bytes out
    arguments  what arguments mean
    table      the command table
    access     users and their rights
    clients    who is connected
    observe    what the server tells of itself
    cluster    which node has which slots
    run        from a request to its reply
    groups     groups of slots that come and go
    scripting  Lua
    replication  masters and replicas
    config     CONFIG
    jobs       what happens between the turns
    commands   the handlers, one module a group
    server     listens, admits, shuts down
"""
