"""Hashes.

    hashes       the operations
    field_times  expire-times of single fields
"""
