"""Policies: encode-versions and caching by key pattern and database; the first match wins."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Matches = Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class Policy:
    """One rule. `encodings` has versions by key-type; None leaves the default in force."""

    pattern: bytes
    matches: Matches
    database: int | None = None
    encodings: Mapping[int, int] = field(default_factory=dict)
    cache: bool = True
    cache_ttl_seconds: int | None = None
    source: str = ""
    """Where it stands, for those who explain it."""

    def covers(self, database: int, key: bytes) -> bool:
        """Whether the rule speaks of a key."""
        return self.database in (None, database) and self.matches(key)
