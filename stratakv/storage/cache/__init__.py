"""The cache tier: a Redis in front of the store, or none.

    contract  words go out, replies come back
    link      one connection, shared by everybody
    cluster   a Redis Cluster as one cache
    slots     where names belong
    address   redis://, rediss://, unix://
"""
