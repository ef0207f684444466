"""Redis's dump format."""
