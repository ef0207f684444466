"""A monitor of video jobs: state in keys, progress over pub/sub, a live view in the terminal."""
