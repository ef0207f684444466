"""StrataKV measured next to redis-server: `python -m benchmarks --help`."""
