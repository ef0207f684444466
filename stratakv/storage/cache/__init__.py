"""The cache tier: a Redis in front of the store, or none. See contract.py."""
