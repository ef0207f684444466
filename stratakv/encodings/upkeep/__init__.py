"""What keeps a store in order: reclaiming, checking, repairing."""
