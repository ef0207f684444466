"""What CONFIG GET and SET know.

    settings      our options while running
    redis_names   Redis's names beside our own
    value_kinds   the kinds of values
    rewriting     CONFIG REWRITE
    conf_lines    the lines of a redis.conf
    conf_names    directives that only stand there
    redis_conf    what they mean here
    conf_rewrite  CONFIG REWRITE of a redis.conf
    users         where users are kept
    renames       commands that are called otherwise, or by nobody
"""
