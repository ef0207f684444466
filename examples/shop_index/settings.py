"""Where the index lives: the name and the address of every server, and the policy they run with.

The ring is made of the names: a server may move to another address without moving a single key.
"""

from __future__ import annotations

from pathlib import Path

AGGRE_URIS: dict[str, str] = {
    "aggre1": "redis://127.0.0.1:6381",
    "aggre2": "redis://127.0.0.1:6382",
    "aggre3": "redis://127.0.0.1:6383",
}
POLICY = Path(__file__).with_name("policy.toml")
