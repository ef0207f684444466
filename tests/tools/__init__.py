"""The commands that move data in and out, run as a user runs them."""
