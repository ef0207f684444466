"""What the server tells of itself."""
