"""Scripts: Lua 5.1 in a sandbox, the commands it may call, and what is kept of scripts.

The sandbox itself is in the *.lua files.

    engine      the scripts of a server
    runtime     a Lua state
    runs        Lua at work
    conversion  replies as Lua values and back
    flags       the first line of a script
    functions   libraries that FUNCTION LOAD registered
    libraries   bit, struct and cmsgpack in the host
    bytecode    compiled Lua without tail calls
"""
