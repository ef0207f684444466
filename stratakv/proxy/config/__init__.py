"""What CONFIG GET and SET know."""
