"""What CONFIG GET and SET know.

    settings     our options while running
    redis_names  Redis's names beside our own
    value_kinds  the kinds of values
    rewriting    CONFIG REWRITE
    users        where users are kept
    renames      commands that are called otherwise, or by nobody
"""
