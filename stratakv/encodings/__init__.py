"""Data types: the stored layout and the operations on it."""
