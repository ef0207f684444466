"""What several types have in common."""
