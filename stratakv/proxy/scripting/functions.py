"""Libraries of functions: what FUNCTION LOAD registered, by library and by function.

Names of functions ignore case, those of libraries do not, as in Redis.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from stratakv.errors import CommandError
from stratakv.proxy.scripting.flags import FLAGS

ENGINE: Final = b"LUA"


@dataclass(frozen=True, slots=True)
class Function:
    """A function as it was registered."""

    library: bytes
    name: bytes
    description: bytes | None
    flags: frozenset[str]

    @property
    def shown_flags(self) -> list[str]:
        """Flags in Redis's order."""
        return [flag for flag in FLAGS if flag in self.flags]


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """A library: its code as it was given, and its functions by lower-case name."""

    name: bytes
    code: bytes
    functions: dict[bytes, Function]


class Libraries:
    """All libraries of a server."""

    def __init__(self) -> None:
        self.by_name: dict[bytes, Library] = {}
        self._functions: dict[bytes, Function] = {}

    @property
    def function_count(self) -> int:
        """The number of functions of all libraries."""
        return len(self._functions)

    def find(self, name: bytes) -> Function | None:
        """The function of that name, in any case."""
        return self._functions.get(name) or self._functions.get(name.lower())

    def check(self, library: Library, *, replacing: Iterable[bytes] = ()) -> None:
        """Raise if a function of the library is already one of another."""
        replaced = {*replacing, library.name}
        for key, function in library.functions.items():
            known = self._functions.get(key)
            if known is not None and known.library not in replaced:
                raise CommandError(b"ERR Function %b already exists" % function.name)

    def add(self, library: Library) -> None:
        """Add a library, in place of one of the same name."""
        self.remove(library.name)
        self.by_name[library.name] = library
        self._functions.update(library.functions)

    def remove(self, name: bytes) -> bool:
        """Remove a library; says whether there was one."""
        library = self.by_name.pop(name, None)
        if library is None:
            return False
        for key in library.functions:
            del self._functions[key]
        return True

    def clear(self) -> None:
        """Remove all."""
        self.by_name.clear()
        self._functions.clear()
