"""HyperLogLog commands: estimates of how many different elements there were."""

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.hyperloglog import hll_registers, hll_sparse, hyperloglog
from stratakv.errors import CommandError
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import OK, Reply, Status

command = CommandGroup("hyperloglog").command


@command(
    "PFADD key [element [element ...]]", "write denyoom fast", key_flags="RW insert", since="2.8.9"
)
def pfadd(txn: Txn, key: bytes, *elements: bytes) -> int:
    """Count elements in a HyperLogLog; 1 if the estimate may have changed."""
    return int(hyperloglog.add(txn, key, elements))


@command(
    "PFCOUNT key [key ...]",
    "readonly",
    traits="replicates",
    key_notes="keeps its answer in the key",
    key_flags="RW access",
    since="2.8.9",
)
def pfcount(txn: Txn, *keys: bytes) -> int:
    """Estimate how many different elements were counted, in all keys together."""
    found = (
        hyperloglog.count(txn, keys[0]) if len(keys) == 1 else hyperloglog.count_union(txn, keys)
    )
    return found - (1 << 64) if found >> 63 else found


@command(
    "PFMERGE destkey [sourcekey [sourcekey ...]]",
    "write denyoom",
    keys=(1, -1, 1),
    arity=-2,
    key_flags="RW access insert, RO access",
    since="2.8.9",
)
def pfmerge(txn: Txn, destkey: bytes, *sources: bytes) -> Reply:
    """Let a HyperLogLog count what others have counted."""
    hyperloglog.merge(txn, destkey, sources)
    return OK


@command(
    "PFDEBUG subcommand key",
    "write denyoom admin",
    keys=(2, 2, 1),
    arity=3,
    key_flags="RW access",
    since="2.8.9",
)
def pfdebug(txn: Txn, subcommand: bytes, key: bytes) -> Reply:
    """Show how a HyperLogLog is kept: GETREG, DECODE, ENCODING; TODENSE changes that."""
    sketch = hyperloglog.find(txn, key)
    word = subcommand.upper()
    if word == b"ENCODING":
        return Status(b"dense" if sketch.is_dense else b"sparse")
    if word == b"DECODE":
        return _decoded(sketch)
    if word in (b"GETREG", b"TODENSE"):
        was_sparse, sketch = hyperloglog.make_dense(txn, key)
        return int(was_sparse) if word == b"TODENSE" else list(sketch.registers())
    raise errors.unknown_pfdebug(subcommand)


def _decoded(sketch: hyperloglog.Sketch) -> bytes:
    if sketch.is_dense:
        raise CommandError(errors.HLL_NOT_SPARSE)
    parts = [
        f"v:{value},{run}" if letter == "v" else f"{letter}:{run}"
        for letter, run, value in hll_sparse.opcodes(sketch.body)
    ]
    return " ".join(parts).encode()


@command("PFSELFTEST", "admin", since="2.8.9")
def pfselftest(session: object) -> Reply:
    """Pack and unpack registers of every value."""
    registers = bytes(number % 64 for number in range(hll_sparse.REGISTERS))
    assert hll_registers.unpack(hll_registers.pack(registers)) == registers
    return OK
