"""Scripts: Lua 5.1 in a sandbox, the commands it may call, and what is kept of scripts."""
