"""Sorted sets as maps.

    geo         places as scores
    geo_search  searches
"""
