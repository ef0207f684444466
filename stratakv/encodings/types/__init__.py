"""The operations on keys, one room a type."""
