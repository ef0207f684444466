"""Keys that commands looked for, as far as it costs nothing to count them.

Whoever finds a key counts nothing: commands and their keys are counted anyway. Only a key that is
not there is noted, and the command table takes the note to the command that missed it.
"""


class Hits:
    """What was noted since it was last taken, in all databases of the process."""

    __slots__ = ("further", "missed")

    def __init__(self) -> None:
        self.missed = 0
        """Keys that were not there, for readers and writers alike."""
        self.further = 0
        """Keys of readers with several, besides the first of each call."""


HITS = Hits()
