"""Wrong passwords: how they are compared, and what becomes of those who guess."""

from __future__ import annotations

import hmac
from pathlib import Path

import pytest

from stratakv.proxy import commands  # noqa: F401  # fills the command table
from stratakv.proxy.access import passwords
from stratakv.proxy.access.failures import Failures
from stratakv.proxy.access.users import Users
from tests.harness.servers import StrataServer


class Time:
    """A clock that is turned."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_an_address_waits_until_the_minute_is_over() -> None:
    time = Time()
    failures = Failures(3, time)
    for _ in range(2):
        failures.count("10.0.0.1:5")
        time.now += 10
    assert failures.wait_of("10.0.0.1:7") == 0
    failures.count("10.0.0.1:6")
    assert failures.wait_of("10.0.0.1:7") == 40
    assert failures.wait_of("10.0.0.2:7") == 0
    time.now += 40
    assert failures.wait_of("10.0.0.1:7") == 0
    failures.count("10.0.0.1:7")
    assert failures.wait_of("10.0.0.1:7") == 10
    failures.forgive("10.0.0.1:8")
    assert failures.wait_of("10.0.0.1:7") == 0


def test_a_network_of_ipv6_is_one_address() -> None:
    failures = Failures(1, Time())
    failures.count("[2001:db8::1]:5")
    assert failures.wait_of("[2001:db8::ffff:2]:6") == 60
    assert failures.wait_of("[2001:db8:0:1::1]:6") == 0
    failures.count("/run/socket:0")
    assert failures.wait_of("/run/socket:0") == 60


def test_memory_of_guessers_is_bounded() -> None:
    failures = Failures(1, Time())
    for number in range(12_000):
        failures.count(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}:1")
    assert len(failures._moments) == 10_000


def test_without_a_limit_nothing_is_remembered() -> None:
    failures = Failures(0, Time())
    failures.count("10.0.0.1:5")
    assert failures.wait_of("10.0.0.1:5") == 0
    assert not failures._moments


def test_a_user_who_does_not_exist_is_compared_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def noted(one: bytes, other: bytes) -> bool:
        compared.append(one)
        return original(one, other)

    original = hmac.compare_digest
    monkeypatch.setattr("stratakv.proxy.access.passwords.compare_digest", noted)
    users = Users()
    users.default.require(b"secret")
    off = users.new(b"off")
    off.passwords = [passwords.digest(b"secret")]
    users.add(off)
    assert users.authenticate(b"default", b"secret") is users.default
    for name in (b"default", b"nobody", b"off"):
        assert users.authenticate(name, b"wrong") is None
    assert users.authenticate(b"off", b"secret") is None
    assert len(compared) == 5


def test_an_address_that_guesses_has_to_wait(tmp_path: Path) -> None:
    flags = ("--acl-max-failures", "3", "--requirepass", "secret")
    server = StrataServer(tmp_path / "data", flags=flags).start()
    try:
        with server.client() as wire, server.client() as known:
            known.send("AUTH", "secret")
            for _ in range(3):
                assert wire.send("AUTH", "wrong").raw.startswith(b"-WRONGPASS invalid")
            for call in (("AUTH", "secret"), ("AUTH", "x", "y"), ("HELLO", 3, "AUTH", "a", "b")):
                assert wire.send(*call).raw.startswith(b"-WRONGPASS too many wrong passwords")
            assert known.send("PING").raw == b"+PONG\r\n"
            assert known.send("CONFIG", "SET", "acl-max-failures", 0).raw == b"+OK\r\n"
            assert wire.send("AUTH", "secret").raw == b"+OK\r\n"
    finally:
        server.stop()
