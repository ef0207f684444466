"""What stored bytes mean."""
