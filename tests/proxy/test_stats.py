"""What the slow log and MONITOR may show of a command."""

from __future__ import annotations

import pytest

from stratakv.proxy.observe.stats import redacted

HIDDEN = b"(redacted)"


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("AUTH pw", "AUTH *"),
        ("auth user pw", "auth * *"),
        ("HELLO 3 AUTH user pw SETNAME me", "HELLO 3 AUTH * * SETNAME me"),
        ("hello 3 setname auth auth user pw", "hello 3 setname auth auth * *"),
        ("HELLO 3 AUTH user", "HELLO 3 AUTH *"),
        ("HELLO", "HELLO"),
        ("CONFIG SET requirepass pw", "CONFIG SET requirepass *"),
        ("config set timeout 1 REQUIREPASS pw", "config set timeout 1 REQUIREPASS *"),
        ("CONFIG SET cache-url redis://:pw@h/0", "CONFIG SET cache-url *"),
        ("CONFIG SET Zset-Store-Url redis://:pw@h/0", "CONFIG SET Zset-Store-Url *"),
        ("CONFIG SET masterauth pw masteruser me", "CONFIG SET masterauth * masteruser *"),
        ("CONFIG SET tls-key-file-pass pw", "CONFIG SET tls-key-file-pass *"),
        ("CONFIG GET requirepass", "CONFIG GET requirepass"),
        ("CONFIG SET requirepass", "CONFIG SET requirepass"),
        ("ACL SETUSER me on >pw", "ACL SETUSER * * *"),
        ("ACL WHOAMI", "ACL WHOAMI"),
        ("MIGRATE h 1 k 0 9 COPY AUTH pw", "MIGRATE h 1 k 0 9 COPY AUTH *"),
        ("MIGRATE h 1 a 0 9 AUTH2 me pw KEYS auth x", "MIGRATE h 1 a 0 9 AUTH2 * * KEYS auth x"),
        ("MIGRATE h 1 auth 0 9 KEYS auth k", "MIGRATE h 1 auth 0 9 KEYS auth k"),
        ("SET auth pw", "SET auth pw"),
    ],
)
def test_passwords_are_hidden_and_nothing_else(call: str, shown: str) -> None:
    wanted = [HIDDEN if word == "*" else word.encode() for word in shown.split()]
    assert redacted([word.encode() for word in call.split()]) == wanted
