"""The operations on keys, one room a type; all are plain functions of a Txn.

    strings      values, and strings as rows of bits
    hyperloglog  strings that count
    hashes       fields, and their expire-times
    lists        elements under sequence numbers
    sets         members
    zsets        members with scores, their order and algebra
    geo          sorted sets as maps
    streams      entries and consumer groups
    keys         what keys of any type have
    shared       what several types have in common
"""
