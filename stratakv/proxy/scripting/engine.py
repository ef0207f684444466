"""The scripts of a server: those it knows, those that run, and the Lua states they run in."""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.rows import TENANT_BITS
from stratakv.encodings.rdb import function_libraries as stored
from stratakv.errors import CommandError
from stratakv.proxy.clients.session import FROM_MASTER
from stratakv.proxy.run.guards import FULL, READ_ONLY
from stratakv.proxy.scripting.flags import (
    Shebang,
    declared_flags,
    library_shebang,
    script_shebang,
)
from stratakv.proxy.scripting.functions import ENGINE, Function, Libraries, Library
from stratakv.proxy.scripting.runs import Loading, Run
from stratakv.proxy.scripting.runtime import BAD_NAME, Lua, OutOfMemory, ScriptError, as_reply
from stratakv.proxy.table.registry import Command, find_called
from stratakv.proxy.wire.requests import Request

if TYPE_CHECKING:
    from stratakv.proxy.clients.session import Session
    from stratakv.proxy.server import Server

_CROSS_SLOTS: Final = "allow-cross-slot-keys"
_IDLE_STATES: Final = 4
"""Lua states of a kind that are kept for the next script."""
Registered = tuple[bytes, bytes | None, bytes, Any]
"""Name, description, flags and callback of a function."""
_NAME: Final = re.compile(rb"[A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True)
class Script:
    """A script that EVALSHA may call."""

    digest: bytes
    code: bytes
    shebang: Shebang


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of the Lua states of scripts and of functions, and of the codes that they know."""

    eval_states: int
    function_states: int
    scripts: int
    libraries: int
    library_count: int
    function_count: int


class Known:
    """The scripts and functions that the clients of one namespace know, or those of none."""

    def __init__(self) -> None:
        self.scripts: dict[bytes, Script] = {}
        self.by_code: dict[bytes, Script] = {}
        self.libraries: Libraries | None = None
        """None until they are asked for, and read from the store."""


class Scripting:
    """Runs scripts and functions, one Lua state for each that runs at the same time."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._known: dict[int, Known] = {}
        self.running: list[Run] = []
        self.allows_all = False
        """DEBUG SET-DISABLE-DENY-SCRIPTS: scripts may call what is not for them."""
        self._idle: dict[str, list[Lua]] = {"eval": [], "function": []}
        self._states: set[Lua] = set()
        """All that exist, at work or idle."""

    def _known_to(self, session: "Session") -> Known:
        """What a client knows: by the database that it is in, for a master is everybody."""
        tenant = session.txn.db.index >> TENANT_BITS
        known = self._known.get(tenant)
        if known is None:
            known = self._known[tenant] = Known()
        return known

    def scripts(self, session: "Session") -> dict[bytes, Script]:
        """The scripts that a client knows, by their digests."""
        return self._known_to(session).scripts

    def declared(self, session: "Session", command: str, request: Request) -> frozenset[str] | None:
        """The flags of the script or function that is called; None if it has declared nothing,
        or is not known."""
        called, known = request[1], self._known_to(session)
        if command.startswith("fcall"):
            function = self.libraries(session).find(called)
            return None if function is None else function.flags
        if command.startswith("evalsha"):
            script = known.scripts.get(called.lower())
        else:
            script = known.by_code.get(called)
            if script is None:
                return declared_flags(called)
        return script.shebang.flags if script is not None and script.shebang.declared else None

    # scripts

    def load(self, session: "Session", code: bytes) -> Script:
        """Know a script from now on; raises if it does not compile."""
        known = self._known_to(session)
        found = known.by_code.get(code)
        if found is not None:
            return found
        digest = hashlib.sha1(code).hexdigest().encode()
        script = Script(digest, code, script_shebang(code))
        lua = self._acquire("eval")
        try:
            self._compiled(lua, script)
        except ScriptError as failure:
            self._release(lua)
            text = b"ERR Error compiling script (new function): %b" % failure.text
            raise CommandError(text.replace(b"\n", b" ")) from None
        except OutOfMemory:
            self._drop(lua)
            raise CommandError(errors.SCRIPT_OUT_OF_MEMORY) from None
        self._release(lua)
        known.scripts[digest] = known.by_code[code] = script
        return script

    def flush(self, session: "Session") -> None:
        """SCRIPT FLUSH."""
        known = self._known_to(session)
        known.scripts.clear()
        known.by_code.clear()
        for lua in self._idle["eval"]:
            self._drop(lua)
        self._idle["eval"].clear()

    def _compiled(self, lua: Lua, script: Script) -> Any:
        found = lua.scripts.get(script.digest)
        if found is None:
            found = lua.compile(script.shebang.body, b"@user_script")
            lua.scripts[script.digest] = found
        return found

    def eval(
        self,
        session: "Session",
        script: Script,
        keys: Sequence[bytes],
        args: Sequence[bytes],
        *,
        read_only: bool,
    ) -> Any:
        """EVAL: run a script as one unit."""
        shebang = script.shebang
        if shebang.declared:
            self._check_flags(session, shebang.flags, read_only)
        elif self._server.dispatcher.guards.is_stale:
            raise CommandError(errors.MASTER_DOWN)
        run = Run(session, script.digest, read_only=read_only or shebang.read_only, kind="eval")
        run.may_grow = shebang.declared
        run.may_cross_slots = not shebang.declared or _CROSS_SLOTS in shebang.flags
        return self._execute(
            run, lambda lua: lua.eval(run, self._compiled(lua, script), keys, args)
        )

    def _check_flags(self, session: "Session", flags: frozenset[str], read_only: bool) -> None:
        """Raise why a script with these flags may not run now: things may have changed since it
        was queued."""
        if self._server.cluster is not None and "no-cluster" in flags:
            raise CommandError(errors.SCRIPT_NOT_ON_CLUSTER)
        guards = self._server.dispatcher.guards
        if guards.is_stale and "allow-stale" not in flags:
            raise CommandError(errors.STALE_SCRIPT)
        if "no-writes" in flags:
            return
        if guards.is_read_only_for(session):
            raise CommandError(errors.SCRIPT_ON_REPLICA)
        if guards.bits & READ_ONLY:
            raise errors.misconf(guards.refusal)
        if read_only:
            raise CommandError(errors.SCRIPT_MAY_WRITE)
        if guards.is_lonely:
            raise CommandError(errors.NO_REPLICAS)
        is_bound = guards.bits & FULL and not session.guards & FROM_MASTER
        if is_bound and "allow-oom" not in flags:
            raise CommandError(errors.SCRIPT_AND_DISK_LIMIT)

    # functions

    def libraries(self, session: "Session") -> Libraries:
        """A client's libraries; those of the store are loaded when they are first asked for."""
        return self._libraries_of(session.txn.db.index >> TENANT_BITS)

    def _libraries_of(self, tenant: int) -> Libraries:
        known = self._known.setdefault(tenant, Known())
        if known.libraries is None:
            known.libraries = Libraries()
            shared = self._server.shared_code
            if shared is None or shared.is_keeper or tenant:
                for code in stored.every(self._server.library_store, tenant):
                    known.libraries.add(self.read_library(None, code))
        return known.libraries

    def forget_libraries(self) -> None:
        """Those of the store have changed as a whole: they are loaded again when they are asked."""
        for known in self._known.values():
            if known.libraries is not None:
                known.libraries.clear()
                known.libraries = None

    def codes_of_libraries(self) -> list[bytes]:
        """The codes of all libraries of no tenant."""
        libraries = self._libraries_of(0)
        return [library.code for library in libraries.by_name.values()]

    def adopt(self, codes: Sequence[bytes]) -> None:
        """Those of no tenant are these from now on: another node keeps them."""
        known = self._known.setdefault(0, Known())
        before = known.libraries.by_name.values() if known.libraries is not None else ()
        loaded = {library.code: library for library in before}
        known.libraries = Libraries()
        for code in codes:
            known.libraries.add(loaded.get(code) or self.read_library(None, code))

    def scripts_of_all(self) -> list[bytes]:
        """The codes of the scripts of no tenant."""
        known = self._known.get(0)
        return [] if known is None else [script.code for script in known.scripts.values()]

    def forget_tenant(self, tenant: int) -> None:
        """A tenant is gone: nobody knows what it knew."""
        self._known.pop(tenant, None)

    def call(
        self,
        session: "Session",
        function: Function,
        keys: Sequence[bytes],
        args: Sequence[bytes],
        *,
        read_only: bool,
    ) -> Any:
        """FCALL: run a function as one unit."""
        writes_nothing = "no-writes" in function.flags
        self._check_flags(session, function.flags, read_only)
        run = Run(session, function.name, read_only=writes_nothing, kind="function")
        run.may_grow = True
        run.may_cross_slots = _CROSS_SLOTS in function.flags
        return self._execute(
            run, lambda lua: lua.call(run, self._callback(lua, session, function), keys, args)
        )

    def _callback(self, lua: Lua, session: "Session", function: Function) -> Any:
        library = self.libraries(session).by_name[function.library]
        loaded = lua.callbacks.get(library.name)
        if loaded is None or loaded[0] is not library:
            callbacks = {
                name.lower(): callback
                for name, _, _, callback in self._run_library(lua, None, library.code)
            }
            loaded = lua.callbacks[library.name] = (library, callbacks)
        return loaded[1][function.name.lower()]

    def library_name(self, code: bytes) -> bytes:
        """The name that a library gives itself; raises where its first line is wrong."""
        engine, name, _ = library_shebang(code)
        if not _NAME.fullmatch(name):
            raise CommandError(b"ERR " + BAD_NAME)
        if engine.upper() != ENGINE:
            raise CommandError(b"ERR Engine '%b' not found" % engine)
        return name

    def read_library(self, txn: Txn | None, code: bytes) -> Library:
        """Run a library's code; raises if it registers nothing or cannot be run."""
        name = library_shebang(code)[1]
        lua = self._acquire("function")
        try:
            found = self._run_library(lua, txn, code)
        except OutOfMemory:
            self._drop(lua)
            raise CommandError(errors.SCRIPT_OUT_OF_MEMORY) from None
        except BaseException:
            self._release(lua)
            raise
        library = Library(name, code, _described(name, found))
        lua.callbacks[name] = (library, {entry[0].lower(): entry[3] for entry in found})
        found.clear()
        self._release(lua)
        if not library.functions:
            raise CommandError(b"ERR No functions registered")
        return library

    def _run_library(self, lua: Lua, txn: Txn | None, code: bytes) -> list[Registered]:
        body = library_shebang(code)[2]
        try:
            chunk = lua.compile(body, b"@user_function")
        except ScriptError as failure:
            text = b"ERR Error compiling function: %b" % failure.text
            raise CommandError(text.replace(b"\n", b" ")) from None
        try:
            return list(lua.load(Loading(txn), chunk))
        except ScriptError as failure:
            text = b"ERR Error registering functions: %b" % failure.text
            raise CommandError(text.replace(b"\n", b" ")) from None

    # running

    def _execute(self, run: Run, work: Callable[[Lua], Any]) -> Any:
        """Run within the session's unit; a failure is a value, so that what was written stays."""
        session, outer, txn = run.session, run.session.unit, run.session.txn
        lua = self._acquire(run.kind)
        if outer is None:
            session.begin_unit()
        self.running.append(run)
        try:
            reply = self._outcome(run, lua, work)
        finally:
            self.running.remove(run)
            session.txn = txn
            if outer is None:
                session.end_unit()
        run.flush_log()
        return reply

    def _outcome(self, run: Run, lua: Lua, work: Callable[[Lua], Any]) -> Any:
        """The reply; the Lua state is kept for the next script unless something broke it."""
        try:
            reply = work(lua)
        except ScriptError as failure:
            reply = as_reply(failure)
            run.failed = True
        except OutOfMemory:
            reply = CommandError(b"ERR Error running script %b, not enough memory" % run.name)
            run.failures, run.failed = [reply], True
            lua.tidy(run)
            self._drop(lua)
            self._count(run)
            return reply
        except BaseException:  # it begins anew, or has spoilt its unit
            self._release(lua)
            raise
        lua.tidy(run)
        self._release(lua)
        if run.failed:
            self._count(run)
        return reply

    def _count(self, run: Run) -> None:
        """Count the errors of a script's reply, and the call as failed."""
        for failure in run.failures:
            self._server.stats.count_error(failure)
        entry = find_called(run.request)
        if entry is not None:
            entry.failed += 1

    def kind_for(self, session: "Session") -> str | None:
        """What runs for a session at this moment: `eval`, `function`, or None."""
        return next((run.kind for run in self.running if run.session is session), None)

    def call_of(self, session: "Session") -> tuple[Command, Request] | None:
        """The call of the script that runs for a session at this moment, if one does."""
        for run in self.running:
            if run.session is session and (entry := find_called(run.request)) is not None:
                return entry, run.request
        return None

    def running_for(self, session: "Session") -> list[Run]:
        """What runs, as far as a client may know of it."""
        return [run for run in self.running if session.realm.sees(run.session)]

    def kill(self, session: "Session", kind: str) -> None:
        """End the scripts of a kind that run; raises where there are none, or they have written."""
        running = self.running_for(session)
        if not running:
            raise CommandError(errors.NO_SCRIPT_RUNS)
        mine = [run for run in running if run.kind == kind]
        if not mine:
            raise CommandError(errors.BUSY_FUNCTION if kind == "eval" else errors.BUSY_SCRIPT)
        killable = [run for run in mine if not run.wrote]
        if not killable:
            raise CommandError(errors.UNKILLABLE)
        for run in killable:
            run.kill()

    # states

    def _acquire(self, kind: str) -> Lua:
        idle = self._idle[kind]
        while idle:
            lua = idle.pop()
            if lua.bind():
                return lua
            self._drop(lua)
        lua = Lua(kind, self._server.options)
        self._states.add(lua)
        return lua

    def _release(self, lua: Lua) -> None:
        idle = self._idle[lua.kind]
        if len(idle) < _IDLE_STATES and not lua.is_crowded:
            idle.append(lua)
        else:
            self._drop(lua)

    def _drop(self, lua: Lua) -> None:
        self._states.discard(lua)
        lua.close()

    def memory(self) -> Memory:
        """The bytes that scripts and functions take."""
        used = {"eval": 0, "function": 0}
        for lua in self._states:
            used[lua.kind] += lua.memory_used
        loaded = [known.libraries for known in self._known.values() if known.libraries]
        libraries = [library for found in loaded for library in found.by_name.values()]
        return Memory(
            used["eval"],
            used["function"],
            sum(len(script.digest) + len(script.code) for script in self._every_script()),
            sum(len(library.name) + len(library.code) for library in libraries),
            len(libraries),
            sum(found.function_count for found in loaded),
        )

    @property
    def script_count(self) -> int:
        """How many scripts are known, to whomever."""
        return sum(1 for _ in self._every_script())

    def _every_script(self) -> Iterator[Script]:
        for known in self._known.values():
            yield from known.scripts.values()


def _described(library: bytes, found: list[Registered]) -> dict[bytes, Function]:
    return {
        name.lower(): Function(library, name, description, frozenset(flags.decode().split()))
        for name, description, flags, _ in found
    }
