"""Sorted sets as maps."""
