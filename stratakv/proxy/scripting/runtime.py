"""A Lua state with the sandbox in it, and the way in and out.

A script runs to its end in one call from here. Whatever Lua calls back never raises into Lua: it
says that the script has to end, and what is to be raised waits in the `Run`. A paused script keeps
its state to itself; others run in another one meanwhile.

Lua looks at the clock (`_tick`) every so many instructions, and where it does much in one of them
(see sandbox.lua). How many follows from how long the last ones took.

The memory limit is lupa's own, with some room on top: outside of a protected call Lua ends the
process when it finds no memory, so everything that is handed over is measured before.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from lupa import lua51

from stratakv import REDIS_VERSION
from stratakv.errors import CommandError
from stratakv.proxy.scripting import libraries
from stratakv.proxy.scripting.bytecode import SAMPLE, rewriter_for
from stratakv.proxy.scripting.conversion import (
    ABORTED,
    ITEM_BYTES,
    SHORT,
    ReplyReader,
    ResultReader,
    TooMuch,
    scalar,
)
from stratakv.proxy.scripting.flags import FLAGS
from stratakv.proxy.scripting.runs import LOG_LENGTH, Run, WorkMeter
from stratakv.proxy.table.registry import find_called

if TYPE_CHECKING:
    from stratakv.options import Options

_SOURCES: Final = {path.stem: path.read_bytes() for path in Path(__file__).parent.glob("*.lua")}
_CHUNK_NAME: Final = b"=stratakv"
HEADROOM: Final = 32 << 20
"""Above the limit: room for what is handed over without being measured."""
OUT_OF_MEMORY: Final = b"not enough memory"
_LEAST: Final = 50
_FIRST: Final = 500
_MOST: Final = 10000
"""Instructions between two looks at the clock; `COUNT` in sandbox.lua is the first number."""
_MUCH: Final = 8 << 20
"""Bytes in use after a script that are worth a collection of garbage."""
_BETWEEN: Final = 0.0005
"""Seconds that should lie between two looks at the clock."""
BAD_NAME: Final = (
    b"Library names can only contain letters, numbers, or underscores(_) "
    b"and must be at least one character long"
)


class ScriptError(Exception):
    """A script failed; `text` is the reply."""

    def __init__(self, text: bytes) -> None:
        super().__init__(text)
        self.text = text


class OutOfMemory(Exception):
    """The state has no memory left and must not be used again."""


class _Ended(Exception):
    """The script has to end: the host stops what it does for it."""


class Lua:
    """One Lua state, for scripts (`eval`) or for functions (`function`)."""

    def __init__(self, kind: str, options: "Options") -> None:
        self.kind = kind
        self._options = options
        self._bound = options.script_memory_limit
        self._lua = lua51.LuaRuntime(
            encoding=None,
            source_encoding="latin-1",
            attribute_filter=_no_attribute,
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=True,
            max_memory=self._limit + HEADROOM,
        )
        self._table: Callable[[Any], Any] = self._lua.table_from
        self._used: Callable[[], int] = self._lua.get_memory_used
        self._run: WorkMeter | None = None
        self._digest = hashlib.sha1()
        self._count = _FIRST
        self._looked = 0.0
        self._api: dict[bytes, Any] = {}
        self._install()
        self.scripts: dict[bytes, Any] = {}
        """Compiled scripts by digest."""
        self.callbacks: dict[bytes, tuple[object, dict[bytes, Any]]] = {}
        """Per library: what was loaded, and its functions by name."""

    @property
    def _limit(self) -> int:
        """The bytes that a state may use, as configured now."""
        return self._options.script_memory_limit

    def bind(self) -> bool:
        """Bind the state to the limit as it is now; says whether it fits."""
        limit = self._limit
        if limit == self._bound:
            return True
        self._bound = limit
        self._lua.set_max_memory(limit + HEADROOM)
        return not self.is_crowded

    def close(self) -> None:
        """Give the memory back now. Nothing of the state may be used after that.

        The host's functions in the state lead back to it: without this it would live on until
        cycles are collected, and those through Lua never are.
        """
        self.scripts.clear()
        self.callbacks.clear()
        self._api.clear()
        del self._lua, self._table, self._used, self._extend

    @property
    def memory_used(self) -> int:
        """Bytes in use."""
        return self._used()

    def _install(self) -> None:
        host = self._table(
            {
                b"call": self._call,
                b"call_many": self._call_many,
                b"tick": self._tick,
                b"lacks": self._lacks,
                b"reason": self._reason,
                b"log": self._log,
                b"setresp": self._setresp,
                b"set_told": self._set_told,
                b"sha1": self._sha1,
                b"log_length": LOG_LENGTH,
                b"acl_check_cmd": self._acl_check_cmd,
                b"without_tail_calls": rewriter_for(self._dump(SAMPLE)),
                b"pack_float": libraries.pack_float,
                b"unpack_float": libraries.unpack_float,
                b"version": REDIS_VERSION.encode(),
                b"version_number": _version_number(REDIS_VERSION),
                b"flags": " ".join(FLAGS).encode(),
                b"bad_name": BAD_NAME,
            }
        )
        chunks = {name.encode(): self._chunk(name) for name in ("patterns", "strings", "tables")}
        self._api = dict(self._chunk("sandbox")(host, self._table(chunks)).items())
        self._extend: Callable[..., None] = self._api[b"extend"]
        install = self._api[b"install"]
        install(b"cjson", self._chunk("cjson"))
        install(b"cmsgpack", self._chunk("cmsgpack"))
        install(b"bit", self._chunk("bits"), libraries.bit_call, libraries.BIT_NAMES)
        install(b"struct", self._chunk("bits"), self._struct, libraries.STRUCT_NAMES)
        self._api[b"seal"](self.kind == "eval")

    def _dump(self, code: bytes) -> bytes:
        """Compiled code, before the sandbox takes the means away."""
        dumped: bytes = self._lua.execute(b"return string.dump(loadstring(...))", code)
        return dumped

    def _chunk(self, name: str) -> Any:
        return self._lua.compile(_SOURCES[name], name=_CHUNK_NAME)

    # from the host

    def compile(self, code: bytes, name: bytes) -> Any:
        """A Lua function; raises `ScriptError` with the compiler's words."""
        self._measure([code])
        try:
            found = self._api[b"compile"](code, name)
        except lua51.LuaMemoryError:
            raise OutOfMemory from None
        if isinstance(found, tuple):
            if found[1] == OUT_OF_MEMORY:
                raise OutOfMemory
            raise ScriptError(found[1])
        return found

    def eval(self, run: Run, script: Any, keys: Sequence[bytes], args: Sequence[bytes]) -> Any:
        """Run a script; returns its reply. Raises `ScriptError`, and what the run has to raise."""
        self._measure(chain(keys, args))
        if len(keys) + len(args) <= SHORT:
            return self._enter(run, self._api[b"eval"], script, len(keys), *keys, *args)
        tables = self._list(run, keys), self._list(run, args)
        return self._enter(run, self._api[b"eval_tables"], script, *tables)

    def call(self, run: Run, callback: Any, keys: Sequence[bytes], args: Sequence[bytes]) -> Any:
        """Run a function of a library."""
        self._measure(chain(keys, args))
        tables = self._list(run, keys), self._list(run, args)
        return self._enter(run, self._api[b"call_tables"], callback, *tables)

    def load(self, run: WorkMeter, chunk: Any) -> Iterator[tuple[bytes, bytes | None, bytes, Any]]:
        """Run a library; gives name, description, flags and callback of each function."""
        ok, found = self._protected(run, self._api[b"load_library"], chunk)
        if not ok:
            raise ScriptError(found)
        return self._described(found)

    def _described(self, functions: Any) -> Iterator[tuple[bytes, bytes | None, bytes, Any]]:
        index = 1
        while (found := self._api[b"describe"](functions, index)) is not None:
            yield found
            index += 1

    def _enter(self, run: Run, function: Any, *arguments: Any) -> Any:
        result = self._protected(run, function, *arguments)
        if not result[0]:
            self._fail(run, *result[1:])
        if len(result) == 2:
            return scalar(result[1], run.resp3)
        letters, values = result[1], iter(result[2:])
        if len(letters) > SHORT and len(result) == 5:
            values = self._chunks(*result[2:])
        reader = ResultReader(letters, values, run.resp3, partial(self._give_way, run))
        reply = reader.read()
        run.failures = reader.failures
        run.failed = b"e" in letters or b"E" in letters
        return reply

    def _chunks(self, values: Any, count: int, size: int) -> Iterator[Any]:
        for start in range(1, count + 1, size):
            found = self._api[b"chunk"](values, start)
            yield from found if isinstance(found, tuple) else (found,)

    def _list(self, run: WorkMeter, values: Sequence[Any]) -> Any:
        """A Lua table of values, made in pieces."""
        found = self._table(values[:SHORT])
        for start in range(SHORT, len(values), SHORT):
            self._give_way(run)
            self._extend(found, start, *values[start : start + SHORT])
        return found

    def _give_way(self, run: WorkMeter) -> None:
        """From the host's own loops, while Lua is not at work: let others be served."""
        if run.tick():
            run.raise_failure()

    def _protected(self, run: WorkMeter, function: Any, *arguments: Any) -> Any:
        self._run = run
        self._count, self._looked = _FIRST, run.started
        try:
            result = function(*arguments)
        except lua51.LuaMemoryError:
            raise OutOfMemory from None
        finally:
            self._run = None
        run.raise_failure()
        return result

    def _fail(
        self,
        run: Run,
        text: Any = None,
        source: bytes | None = None,
        line: bytes | None = None,
        is_counted: bool | None = None,
    ) -> NoReturn:
        if text == OUT_OF_MEMORY:
            raise OutOfMemory
        if not is_counted:
            run.failures = [CommandError(text)]
        if source is not None and line is not None:
            text += b" script: %b, on %b:%b." % (run.name, source, line)
        raise ScriptError(text)

    def _measure(self, values: Iterable[bytes]) -> None:
        """See that what is handed over fits."""
        lengths = list(map(len, values))
        if sum(lengths) + ITEM_BYTES * len(lengths) > self._limit - self._used():
            raise OutOfMemory

    @property
    def is_crowded(self) -> bool:
        """Whether half of the memory is taken even though no script runs."""
        return self._used() * 2 >= self._limit

    def tidy(self, run: Run) -> None:
        """Collect what a script has left behind, if that is much: step by step, unlike `close`."""
        if self._used() < _MUCH:
            return
        collect = self._api[b"collect"]
        cycles = 2  # what is garbage now may be found only by the cycle after the one under way
        try:
            while cycles:
                cycles -= bool(collect())
                run.pause_if_due()
        except lua51.LuaMemoryError:
            return  # it has none left even for that, and will be closed

    # from Lua

    def _acl_check_cmd(self, *values: Any) -> Any:
        """Whether the user who called the script may run a command."""
        if not values:
            return None, b"Please specify at least one argument for this redis lib call"
        if any(not isinstance(value, bytes | int | float) for value in values):
            return None, b"Lua redis lib command arguments must be strings or integers"
        request = [value if isinstance(value, bytes) else b"%.17g" % value for value in values]
        entry = find_called(request)
        if entry is None:
            return None, b"Invalid command passed to redis.acl_check_cmd()"
        return not isinstance(self._run, Run) or self._run.may_call(entry, request)

    def _call(self, *values: Any) -> Any:
        run = self._run
        if run is None or run.reason:
            return None, ABORTED
        try:
            reply = run.call(values)
            if run.reason:
                return None, ABORTED
            room = self._limit - self._used()
            if room > 0 and (type(reply) is int or (type(reply) is bytes and len(reply) < room)):
                return reply
            reader = ReplyReader(self._made, run.resp3, room, self._pause_if_due)
            return reader.read(reply)
        except TooMuch:
            run.end(OutOfMemory())
        except _Ended:
            pass
        except BaseException as failure:
            run.end(failure)
        return None, ABORTED

    def _call_many(self, values: Any, count: float) -> Any:
        """`_call` with more arguments than Lua can hand over one by one."""
        return self._call(*[values[index] for index in range(1, int(count) + 1)])

    def _made(self, contents: Any) -> Any:
        """A Lua table of a list or a dictionary."""
        if self._run is not None and isinstance(contents, list) and len(contents) > SHORT:
            return self._list(self._run, contents)
        return self._table(contents)

    def _tick(self) -> int:
        """How many instructions Lua may go on for; 0 if it has to end."""
        run = self._run
        if run is None:
            return _FIRST
        took = time.perf_counter() - self._looked
        if took > _BETWEEN:
            self._count = max(_LEAST, int(self._count * _BETWEEN / took))
        elif took < _BETWEEN / 2:
            self._count = min(_MOST, self._count * 2)
        try:
            if self._used() > self._limit:
                run.end(OutOfMemory())
            has_to_end = run.tick()
        except BaseException as failure:
            run.end(failure)
            return 0
        self._looked = time.perf_counter()
        return 0 if has_to_end else self._count

    def _pause_if_due(self) -> None:
        """From the host's own loops, while Lua waits for them; raises if it has to end."""
        if not self._tick():
            raise _Ended

    def _lacks(self, size: float) -> bool:
        """Whether so many bytes are more than there is room for; the script has to end then."""
        if self._run is None or size <= self._limit - self._used():
            return False
        self._run.end(OutOfMemory())
        return True

    def _struct(self, *values: Any) -> tuple[Any, ...]:
        try:
            return libraries.struct_call(self._pause_if_due, *values)
        except _Ended:
            return (self._reason(),)

    def _sha1(self, text: bytes, is_last: bool) -> bytes | None:
        """The digest of the pieces up to the last one."""
        self._digest.update(text)
        if not is_last:
            return None
        found, self._digest = self._digest.hexdigest().encode(), hashlib.sha1()
        return found

    def _reason(self) -> bytes:
        return self._run.reason if self._run is not None else b""

    def _log(self, level: float, text: bytes) -> None:
        if self._run is not None:
            self._run.note(int(level), text.decode("utf-8", "replace"))

    def _setresp(self, version: float) -> None:
        if self._run is not None:
            self._run.resp3 = version == 3

    def _set_told(self, is_told: bool) -> None:
        if self._run is not None:
            self._run.is_told = is_told


def _no_attribute(owner: object, name: object, is_setting: bool) -> NoReturn:
    raise AttributeError("scripts have no access to the host")


def _version_number(version: str) -> int:
    major, minor, patch = (int(part) for part in version.split("."))
    return major << 16 | minor << 8 | patch


def as_reply(failure: ScriptError) -> CommandError:
    """The reply of a script that failed."""
    return CommandError(failure.text.replace(b"\r", b" ").replace(b"\n", b" "))
