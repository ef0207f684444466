"""Keyspace notifications.

    notifications  publishing
    events         which command tells what
    event_calls    keys before and after a call
"""
