"""Keys, versions, and units of work on them."""
