"""Ending a tool early: SIGTERM is heard as Ctrl-C is.

A tool that a shell runs in the background hears no Ctrl-C: the shell has it ignored.
"""

import signal


def obey_sigterm() -> None:
    """Raise KeyboardInterrupt on SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
