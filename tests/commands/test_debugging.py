"""DEBUG: the digest of all data, which is Redis's own; keys at once; a server that sleeps."""

from tests.harness.servers import Process
from tests.harness.wire import WireClient, encode

_DATA = """
SET s v | SET i 12 | RPUSH l a b c a | SADD st 1 2 x | ZADD z 1.5 a -inf b 3 c 0.1 q
HSET h f v g w
XADD x 1-1 a b | XADD x 2-7 a b c d | XDEL x 1-1 | SET e v EX 1000 | SETRANGE long 40000 end
PFADD hll a b | SETBIT bits 70000 1 | SELECT 3 | SET s other | HSET h f v | SELECT 0
DEBUG POPULATE 10 | DEBUG POPULATE 20 some | DEBUG POPULATE 5 wide 20 | DEBUG POPULATE 5 narrow 3
GET key:9 | GET some:19 | GET wide:4 | GET narrow:4 | DBSIZE
"""
_QUESTIONS = """
DEBUG DIGEST | DEBUG DIGEST-VALUE s i l st z h x e long hll bits nosuch | DEBUG DIGEST-VALUE
DEBUG DIGEST x | DEBUG POPULATE | DEBUG POPULATE -1 | DEBUG POPULATE x | DEBUG POPULATE 1 k -5
MULTI | SET s 1 | DEBUG DIGEST | DEBUG POPULATE 3 unit | GET unit:2 | EXEC | DEBUG DIGEST
SELECT 3 | DEBUG DIGEST | FLUSHALL | DEBUG DIGEST
"""


def _calls(text: str) -> list[list[str]]:
    return [call.split() for call in text.replace("\n", "|").split("|") if call.strip()]


def test_the_digest_of_the_same_data_is_that_of_redis(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    for call in _calls(_DATA + _QUESTIONS):
        assert strata_wire.send(*call).raw == redis_wire.send(*call).raw, call


def test_the_digest_knows_one_byte_from_another(strata_wire: WireClient) -> None:
    seen = set()
    for call in _calls(
        "SET s v | SET s w | SET t w | EXPIRE s 100 | DEL s t | RPUSH l a b | RPUSH l c"
    ):
        strata_wire.send(*call)
        seen.add(strata_wire.send("DEBUG", "DIGEST").raw)
    assert len(seen) == 7


def test_a_server_that_is_told_to_sleep_serves_nobody(strata_server: Process) -> None:
    with strata_server.client() as sleeper, strata_server.client() as other:
        sleeper.write(
            encode("MULTI") + encode("DEBUG", "SLEEP", "0.5") + encode("TIME") + encode("EXEC")
        )
        replies = [sleeper.read() for _ in range(3)]
        asked = other.send("TIME").frame.blobs()
        assert [one.raw for one in replies[1:]] == [b"+QUEUED\r\n"] * 2
        woken = sleeper.read().frame.elements[1].blobs()
        assert [int(part) for part in asked] >= [int(part) for part in woken]
