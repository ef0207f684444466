"""Sorted sets.

    zsets         members and scores
    zset_order    walks over the order
    zset_ranks    positions in the order, without a walk
    zset_ranges   ranges by rank, score and name
    zset_algebra  union, intersection, difference
"""
