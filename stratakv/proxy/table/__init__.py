"""The command table and the syntax of its lines."""
