"""A transcoding tracker: videos, their fragments, and the hosts that work on them."""
