"""What the arguments of commands mean."""
