"""What the Redis tier caches of hashes, sets and sorted sets."""
