"""Streams.

    streams        entries
    stream_groups  consumer groups and what is pending
    stream_claims  pending entries that pass on
"""
