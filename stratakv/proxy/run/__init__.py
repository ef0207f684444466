"""From a request to its reply: dispatch, turns, long and blocking commands."""
