"""Who is connected, and what the server knows of each."""
