"""What nobody uses any more, and is too much to be freed at once."""

from typing import Any, Final

FREE_STEP: Final = 1000
"""Things that are freed in a turn: less than a millisecond."""


class Leftovers:
    """Lists and dictionaries of very many things, freed little by little.

    To free a full cache of metas at once took 70 ms.
    """

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[dict[Any, Any] | list[Any]] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, many: dict[Any, Any] | list[Any]) -> None:
        """Free a list or dictionary later. Nobody may use it any more."""
        self._waiting.append(many)

    def free_some(self) -> bool:
        """Free some of what was cast off; says whether there is more."""
        if not self._waiting:
            return False
        many = self._waiting[-1]
        if isinstance(many, list):
            del many[-FREE_STEP:]
        else:
            for _ in range(min(len(many), FREE_STEP)):
                many.popitem()
        if not many:
            self._waiting.pop()
        return bool(self._waiting)
