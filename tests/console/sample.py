"""A small shop's data: every type, JSON, msgpack and binary values, prefixes, expire-times."""

from __future__ import annotations

import json
import random
from typing import Any

import msgpack
import redis

FIRST = ("ada", "bo", "cleo", "dai", "eva", "finn", "gus", "hana", "ivo", "june")
CITIES = ("Lisbon", "Oslo", "Kyoto", "Quito", "Graz", "Cork")


def fill(client: redis.Redis, *, users: int = 300) -> None:
    """The same data each time."""
    dice = random.Random(7)
    pipe = client.pipeline(transaction=False)
    for number in range(users):
        name = f"{dice.choice(FIRST)}{number}"
        pipe.hset(f"user:{number}", mapping=_user(name, dice))
        if number % 3 == 0:
            session = {"user": number, "cart": [dice.randrange(900) for _ in range(3)]}
            pipe.set(f"session:{dice.getrandbits(64):016x}", json.dumps(session), ex=3600)
        pipe.zadd("ranking:2026", {name: dice.randrange(10_000)})
        pipe.sadd(f"city:{dice.choice(CITIES)}", name)
    for number in range(120):
        product = {"id": number, "name": f"Lamp {number}", "tags": ["new", "light"], "price": 12.5}
        pipe.set(f"product:{number}:json", json.dumps(product))
        pipe.set(f"product:{number}:image", bytes(dice.getrandbits(8) for _ in range(900)))
    pipe.rpush("queue:mails", *[f"mail to {name}" for name in FIRST * 30])
    for number in range(150):
        pipe.xadd("events", {"kind": dice.choice(("view", "buy")), "user": number})
    pipe.set("settings:packed", msgpack.packb({"theme": "dark", "limits": [1, 2, 3]}))
    pipe.set("greeting", "hello, disk")
    pipe.execute()


def _user(name: str, dice: random.Random) -> dict[Any, Any]:
    return {
        "name": name,
        "city": dice.choice(CITIES),
        "visits": dice.randrange(500),
        "profile": json.dumps({"language": "en", "newsletter": dice.random() < 0.5}),
    }
