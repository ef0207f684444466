"""Lists.

    lists  the operations
"""
