"""The command table and the syntax of its lines.

    registry  a line per command, from which everything else follows
    syntax    the line as a tree of arguments
    facts     ACL categories and key specifications
    helptext  HELP of the containers
"""
