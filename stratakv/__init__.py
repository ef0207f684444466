"""StrataKV: Redis's API on disk-sized data."""

__version__ = "0.1.0"
REDIS_VERSION = "7.0.15"
"""The Redis whose behaviour we follow: clients choose what to use by it."""
