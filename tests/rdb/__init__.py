"""Whole dumps: written for a real Redis, read from one, damaged, and cut short."""
