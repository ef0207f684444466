"""Strings, as values and as rows of bits."""
