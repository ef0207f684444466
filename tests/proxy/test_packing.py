"""Commands as bytes: packed one by one, in steps, and many at once, with C and without."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from stratakv.proxy.wire import packing
from stratakv.proxy.wire.packing import (
    LARGE,
    Packed,
    Packing,
    joined,
    pack,
    pack_all,
    packed_size,
    request,
)
from tests.harness.extensions import compiled
from tests.harness.wire import encode


@pytest.fixture(scope="module", params=["Python", "C"], autouse=True)
def packer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Every test of this page holds for both ways of packing what is plain."""
    source = Path(packing.__file__).with_name("_pack.c")
    with pytest.MonkeyPatch.context() as patch:
        in_c = compiled(source, tmp_path_factory.mktemp("pack")) if request.param == "C" else None
        patch.setattr(packing, "PACK", in_c and in_c.pack)
        yield


def test_a_command_is_packed_the_same_in_one_go_and_in_steps() -> None:
    words = [b"MSET", b"x" * (LARGE + 1), b"", *[b"%d" % number for number in range(2500)]]
    at_once: list[bytes] = []
    pack(words, at_once)
    slowly: list[bytes] = []
    steps = Packing(words)
    while not steps.step(slowly):
        pass
    assert b"".join(slowly) == b"".join(at_once) == b"".join(joined(at_once)) == request(*words)
    assert packed_size(words) == len(request(*words))
    assert packed_size([b"PING"]) == len(b"*1\r\n$4\r\nPING\r\n")


def test_many_commands_are_packed_as_one_by_one() -> None:
    dice = random.Random(1)
    sizes = [0, 1, 9, 10, 99, 100, 999, 1000, 1023, 1024, 9999, 10000, LARGE, LARGE + 1]
    for _ in range(30):
        commands: list[Sequence[bytes]] = []
        for _ in range(dice.randrange(30)):
            count = dice.choice([1, 2, 3, 9, 10, 11, 120])
            words = [
                dice.randbytes(dice.choice(sizes[: dice.choice([5, 14])])) for _ in range(count)
            ]
            commands.append(dice.choice([list[bytes], tuple[bytes, ...]])(words))
        out: list[bytes] = []
        pack_all(commands, out)
        assert b"".join(out) == b"".join(encode(*words) for words in commands)


def test_a_large_argument_is_not_copied() -> None:
    large = b"x" * (LARGE + 1)
    out: list[bytes] = []
    pack_all([[b"SET", b"a", b"1"], [b"SET", b"b", large], [b"SET", b"c", b"2"]], out)
    assert any(piece is large for piece in out)


def test_what_is_packed_already_keeps_its_place() -> None:
    packed = Packed([encode("DEL", "b")[:5], encode("DEL", "b")[5:]])
    out: list[bytes] = []
    pack_all([[b"DEL", b"a"], packed, (b"DEL", b"c")], out)
    assert b"".join(out) == encode("DEL", "a") + encode("DEL", "b") + encode("DEL", "c")


def test_no_commands_are_no_bytes() -> None:
    out: list[bytes] = []
    pack_all([], out)
    assert out == []
