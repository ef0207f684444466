"""StrataKV: Redis's API on disk-sized data."""

__version__ = "0.1.0"
