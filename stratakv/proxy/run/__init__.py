"""From a request to its reply.

    dispatch       the hot path
    pipelines      who runs in this turn, and who waits in line
    running        a command from its budget to its reply, outside of the hot path
    guards         whatever is unusual about the server, a bit each
    demands        what a request would do, before it runs
    rights         what users may not do
    quotas         what clients of a namespace may no longer write
    turns          one commit for all that happens between two polls
    leased_turns   the same over a store that may lose its rows
    group_turns    the same over many groups of slots, each by itself
    spaces         all that belongs to the keys of one group of slots
    slices         greenlets that work between the turns
    lock_waits     writers that wait for long commands
    long_commands  a command over a LongTxn
    long_work      a LongTxn, and its waits for the store
    retries        a command that misses something, run again with it
    foresight      what a command that misses a row will miss next
    ranking        directories of ranks, and who waits for one
    blocking       clients that wait for a key
    unblocking     their command, run again
    invariants     what has to hold between two turns, looked at in the tests
    busy           scripts that keep writers waiting
"""
