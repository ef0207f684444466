"""Lists."""
