"""Hashes, and the expire-times of their fields."""
