"""The command table and the syntax of its lines.

    registry    a line per command, from which everything else follows
    syntax      the line as a tree of arguments
    categories  the ACL categories that follow from flags and group
    keyspecs    where the keys stand, and what is done with them
    summaries   what a command does, in a line
    helptext    HELP of the containers
"""
