"""What the server does by itself between the turns."""
