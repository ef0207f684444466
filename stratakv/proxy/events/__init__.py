"""Keyspace notifications."""
