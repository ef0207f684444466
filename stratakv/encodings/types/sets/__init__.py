"""Sets.

    sets  the operations
"""
