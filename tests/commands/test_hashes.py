"""Hash commands over the wire: each reply is the one of a real Redis, byte for byte."""

from tests.commands.frames import shape, unordered
from tests.harness.wire import WireClient

HUGE = "9223372036854775807"
TINY = "-9223372036854775808"

CALLS = [
    "HSET h f v",
    "HSET h f w",
    "HSET h a 1 b 2 a 3",
    "HSET h f",
    "HSET h f v g",
    "HMSET h c 5",
    "HMSET h c 5 d",
    "HSETNX h f x",
    "HSETNX h n x",
    "HGET h f",
    "HGET h none",
    "HGET none f",
    "HMGET h f none a",
    "HMGET none f g",
    "HGETALL h",
    "HGETALL none",
    "HKEYS h",
    "HVALS h",
    "HKEYS none",
    "HVALS none",
    "HLEN h",
    "HLEN none",
    "HEXISTS h f",
    "HEXISTS h none",
    "HSTRLEN h f",
    "HSTRLEN h none",
    "HSTRLEN none f",
    "HINCRBY h a 4",
    "HINCRBY h f 4",
    "HINCRBY h a x",
    f"HINCRBY h a {HUGE}",
    "HINCRBYFLOAT h a 0.5",
    "HINCRBYFLOAT h a 3.0e2",
    "HINCRBYFLOAT h f 1",
    "HINCRBYFLOAT h a x",
    "HINCRBYFLOAT h a inf",
    "HINCRBYFLOAT h a nan",
    "HSCAN h 0",
    "HSCAN h 0 COUNT 1",
    "HSCAN h 0 MATCH [ab]",
    "HSCAN h 0 match [ab] count 3 match f",
    "HSCAN h -1",
    "HSCAN h 18446744073709551615",
    "HSCAN h 18446744073709551616",
    "HSCAN h x",
    "HSCAN h 0 COUNT 0",
    "HSCAN h 0 COUNT x",
    "HSCAN h 0 COUNT",
    "HSCAN h 0 TYPE hash",
    "HSCAN none 0 NONSENSE",
    "HSCAN string 0 NONSENSE",
    "HRANDFIELD none",
    "HRANDFIELD none 3",
    "HRANDFIELD none -3 WITHVALUES",
    "HRANDFIELD h 0",
    "HRANDFIELD h 0 WITHVALUES",
    f"HRANDFIELD h {HUGE}",
    "HRANDFIELD h 100 withvalues",
    f"HRANDFIELD h {TINY}",
    f"HRANDFIELD h {HUGE} WITHVALUES",
    "HRANDFIELD h x",
    "HRANDFIELD h 1 NONSENSE",
    "HRANDFIELD h 1 WITHVALUES more",
    "HDEL h f none f",
    "HDEL none f",
    "HDEL h a b c n",
    "EXISTS h",
    "HSET string f v",
    "HGET string f",
    "HMGET string f",
    "HGETALL string",
    "HLEN string",
    "HDEL string f",
    "HINCRBY string f 1",
    "HRANDFIELD string 1",
    "HSETNX string f v",
]


UNORDERED = frozenset({"HGETALL", "HKEYS", "HVALS", "HSCAN", "HRANDFIELD"})


def test_replies_are_those_of_redis(redis_wire: WireClient, strata_wire: WireClient) -> None:
    for client in (redis_wire, strata_wire):
        client.send("SET", "string", "text")
    for call in CALLS:
        words = call.split()
        redis, strata = redis_wire.send(*words), strata_wire.send(*words)
        assert strata.raw == redis.raw or (
            words[0] in UNORDERED and unordered(strata.frame) == unordered(redis.frame)
        ), f"{call}: {strata} where Redis says {redis}"


def test_random_fields_have_the_shape_of_redis(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    for client in (redis_wire, strata_wire):
        client.send("HSET", "h", *[word for n in range(9) for word in (f"f{n}", f"v{n}")])
    for call in (
        "HRANDFIELD h",
        "HRANDFIELD h 4",
        "HRANDFIELD h -40",
        "HRANDFIELD h -9 WITHVALUES",
    ):
        redis, strata = redis_wire.send(*call.split()), strata_wire.send(*call.split())
        assert shape(strata.frame) == shape(redis.frame), call
    values = strata_wire.send("HRANDFIELD", "h", "-50", "WITHVALUES").frame
    pairs = [item.items or () for item in values.items or ()] if values.items else []
    for pair in pairs if pairs[0] else values.pairs():
        field, value = pair
        assert (field.data or b"")[1:] == (value.data or b"")[1:]


def test_a_large_hash_comes_whole(redis_wire: WireClient, strata_wire: WireClient) -> None:
    words = [word for n in range(5000) for word in (f"field:{n}", f"value:{n}")]
    for client in (redis_wire, strata_wire):
        for start in range(0, len(words), 1000):
            client.send("HSET", "h", *words[start : start + 1000])
        client.send("HDEL", "h", *words[:3000:2])
    for call in ("HGETALL h", "HKEYS h", "HVALS h", "HLEN h", "HRANDFIELD h 10000"):
        redis, strata = redis_wire.send(*call.split()), strata_wire.send(*call.split())
        assert unordered(strata.frame) == unordered(redis.frame), call


def test_a_scan_of_a_large_hash_shows_every_field(strata_wire: WireClient) -> None:
    words = [word for n in range(700) for word in (f"field:{n}", f"value:{n}")]
    strata_wire.send("HSET", "h", *words)
    found: list[bytes] = []
    cursor = b"0"
    while True:
        items = strata_wire.send("HSCAN", "h", cursor, "COUNT", 50, "MATCH", "*1*").frame.items
        assert items is not None
        found += [field.data or b"" for field, _ in items[1].pairs()]
        cursor = items[0].data or b""
        if cursor == b"0":
            break
    assert sorted(found) == sorted(word.encode() for word in words[::2] if "1" in word)
