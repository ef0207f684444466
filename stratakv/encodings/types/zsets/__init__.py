"""Sorted sets: members, order, ranges, algebra."""
