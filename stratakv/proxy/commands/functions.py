"""Function commands: libraries that stay, and calls of their functions."""

from stratakv import errors
from stratakv.encodings.layout.globs import compile_glob
from stratakv.encodings.layout.numbers import parse_int
from stratakv.encodings.rdb import function_libraries as stored
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import Args
from stratakv.proxy.clients.session import Session
from stratakv.proxy.commands.scripting import (
    KEYS_OF_READER,
    KEYS_OF_WRITER,
    script_call,
    split_keys,
)
from stratakv.proxy.scripting.functions import ENGINE, Function, Libraries, Library
from stratakv.proxy.table.helptext import help_of
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NO_REPLY, OK, Members, Reply, Status

_GROUP = CommandGroup("scripting")
command, container = _GROUP.command, _GROUP.container


def _call(
    session: Session, name: bytes, numkeys: bytes, rest: tuple[bytes, ...], read_only: bool
) -> Reply:
    scripting = session.server.scripting
    function = scripting.libraries(session).find(name)
    if function is None:
        raise CommandError(errors.NO_SUCH_FUNCTION)
    count = parse_int(numkeys)
    if count is None:
        raise CommandError(errors.BAD_NUMBER_OF_KEYS)
    keys, args = split_keys(count, rest)
    return scripting.call(session, function, keys, args, read_only=read_only)


@script_call(
    "FCALL function numkeys [key [key ...]] [arg [arg ...]]",
    writes=True,
    key_notes=KEYS_OF_WRITER,
    since="7.0.0",
)
def fcall(session: Session, function: bytes, numkeys: bytes, *rest: bytes) -> Reply:
    """Call a function of a library as one unit."""
    return _call(session, function, numkeys, rest, read_only=False)


@script_call(
    "FCALL_RO function numkeys [key [key ...]] [arg [arg ...]]",
    writes=False,
    key_notes=KEYS_OF_READER,
    since="7.0.0",
)
def fcall_ro(session: Session, function: bytes, numkeys: bytes, *rest: bytes) -> Reply:
    """Call a function that writes nothing."""
    return _call(session, function, numkeys, rest, read_only=True)


container("FUNCTION", since="7.0.0")


@command(
    "FUNCTION LOAD [REPLACE] function-code",
    "write denyoom noscript",
    tips="request_policy:all_shards response_policy:all_succeeded",
    since="7.0.0",
    tenants="own",
)
def function_load(session: Session, *given: bytes) -> Reply:
    """Load a library of functions, and return its name."""
    for option in given[:-1]:
        if option.upper() != b"REPLACE":
            raise CommandError(b"ERR Unknown option given: %b" % option.split(b"\0")[0])
    if _is_handed_over(session):
        return NO_REPLY
    scripting = session.server.scripting
    known = scripting.libraries(session)
    name = scripting.library_name(given[-1])
    if name in known.by_name and len(given) == 1:
        raise CommandError(b"ERR Library '%b' already exists" % name)
    library = scripting.read_library(session.txn, given[-1])
    known.check(library)
    stored.save(session.txn, library.name, library.code)
    known.add(library)
    _tell_nodes(session)
    return library.name


def _is_handed_over(session: Session) -> bool:
    """Whether another node of the cluster does it, and answers."""
    shared = session.server.shared_code
    return shared is not None and shared.hand_over(session)


def _tell_nodes(session: Session) -> None:
    shared = session.server.shared_code
    if shared is not None:
        shared.libraries_changed(session)


@command(
    "FUNCTION DELETE library-name",
    "write noscript",
    tips="request_policy:all_shards response_policy:all_succeeded",
    since="7.0.0",
    tenants="own",
)
def function_delete(session: Session, name: bytes) -> Reply:
    """Delete a library."""
    if _is_handed_over(session):
        return NO_REPLY
    if not session.server.scripting.libraries(session).remove(name):
        raise CommandError(errors.NO_SUCH_LIBRARY)
    stored.remove(session.txn, name)
    _tell_nodes(session)
    return OK


@command(
    "FUNCTION FLUSH [ASYNC|SYNC]",
    "write noscript",
    tips="request_policy:all_shards response_policy:all_succeeded",
    since="7.0.0",
    tenants="own",
)
def function_flush(session: Session, *mode: bytes) -> Reply:
    """Delete all libraries."""
    if len(mode) > 1:
        raise errors.wrong_subcommand("FUNCTION", session.request[1])
    if mode and mode[0].upper() not in (b"ASYNC", b"SYNC"):
        raise CommandError(errors.FUNCTION_FLUSH_MODE)
    if _is_handed_over(session):
        return NO_REPLY
    libraries = session.server.scripting.libraries(session)
    for name in libraries.by_name:
        stored.remove(session.txn, name)
    libraries.clear()
    _tell_nodes(session)
    return OK


@command(
    "FUNCTION LIST [LIBRARYNAME library-name-pattern] [WITHCODE]",
    "noscript",
    tips="nondeterministic_output_order",
    since="7.0.0",
    tenants="own",
)
def function_list(session: Session, *options: bytes) -> Reply:
    """Describe the libraries."""
    args = Args(options)
    with_code, pattern = False, None
    while args:
        if not with_code and args.accept(b"WITHCODE"):
            with_code = True
        elif pattern is None and args.accept(b"LIBRARYNAME"):
            if not args:
                raise CommandError(b"ERR library name argument was not given")
            pattern = args.take()
        else:
            raise CommandError(b"ERR Unknown argument %b" % args.take().split(b"\0")[0])
    matches = compile_glob(pattern.lower()) if pattern is not None else None
    return [
        _describe(library, with_code)
        for library in session.server.scripting.libraries(session).by_name.values()
        if matches is None or matches(library.name.lower())
    ]


def _describe(library: Library, with_code: bool) -> Reply:
    functions = [_describe_function(function) for function in library.functions.values()]
    found = {b"library_name": library.name, b"engine": ENGINE, b"functions": functions}
    if with_code:
        found[b"library_code"] = library.code
    return found


def _describe_function(function: Function) -> Reply:
    return {
        b"name": function.name,
        b"description": function.description,
        b"flags": Members(Status(flag.encode()) for flag in function.shown_flags),
    }


@command("FUNCTION DUMP", "noscript", since="7.0.0", tenants="own")
def function_dump(session: Session) -> Reply:
    """Return all libraries as one payload."""
    libraries = session.server.scripting.libraries(session).by_name.values()
    return stored.dump(session.txn, [library.code for library in libraries])


@command(
    "FUNCTION RESTORE serialized-value [FLUSH|APPEND|REPLACE]",
    "write denyoom noscript",
    tips="request_policy:all_shards response_policy:all_succeeded",
    since="7.0.0",
    tenants="own",
)
def function_restore(session: Session, payload: bytes, *policy: bytes) -> Reply:
    """Add the libraries of a payload: all of them, or none."""
    if len(policy) > 1:
        raise errors.wrong_subcommand("FUNCTION", session.request[1])
    word = policy[0].upper() if policy else b"APPEND"
    if word not in (b"FLUSH", b"APPEND", b"REPLACE"):
        raise CommandError(errors.RESTORE_POLICY)
    if _is_handed_over(session):
        return NO_REPLY
    found = _read_payload(session, payload)
    libraries = session.server.scripting.libraries(session)
    if word == b"FLUSH":
        for name in libraries.by_name:
            stored.remove(session.txn, name)
        libraries.clear()
    elif word == b"APPEND":
        _refuse_known(libraries, found)
    for library in found.by_name.values():
        libraries.check(library, replacing=found.by_name)
    for library in found.by_name.values():
        stored.save(session.txn, library.name, library.code)
        libraries.add(library)
    _tell_nodes(session)
    return OK


def _read_payload(session: Session, payload: bytes) -> Libraries:
    """The libraries of a payload, which must not be in each other's way."""
    scripting, found = session.server.scripting, Libraries()
    for code in stored.parse(session.txn, payload):
        name = scripting.library_name(code)
        if name in found.by_name:
            raise CommandError(b"ERR Library '%b' already exists" % name)
        library = scripting.read_library(session.txn, code)
        found.check(library)
        found.add(library)
    return found


def _refuse_known(libraries: Libraries, found: Libraries) -> None:
    for name in found.by_name:
        if name in libraries.by_name:
            raise CommandError(b"ERR Library %b already exists" % name)


@command(
    "FUNCTION STATS",
    "noscript allow_busy",
    tips="nondeterministic_output request_policy:all_shards response_policy:special",
    since="7.0.0",
    tenants="own",
)
def function_stats(session: Session) -> Reply:
    """Describe the running function, and count libraries and functions."""
    scripting = session.server.scripting
    runs = scripting.running_for(session)
    running = next((run for run in runs if run.kind == "function"), None)
    if running is None and runs:
        raise CommandError(errors.BUSY_SCRIPT)
    shown = None
    if running is not None:
        shown = {
            b"name": running.name,
            b"command": list(running.request),
            b"duration_ms": int(running.seconds * 1000),
        }
    libraries = scripting.libraries(session)
    counts = {
        b"libraries_count": len(libraries.by_name),
        b"functions_count": libraries.function_count,
    }
    return {b"running_script": shown, b"engines": {ENGINE: counts}}


@command(
    "FUNCTION KILL",
    "noscript allow_busy",
    tips="request_policy:all_shards response_policy:one_succeeded",
    since="7.0.0",
    tenants="own",
)
def function_kill(session: Session) -> Reply:
    """End the running functions that have written nothing yet."""
    session.server.scripting.kill(session, "function")
    return OK


@command("FUNCTION HELP", "loading stale", since="7.0.0", tenants="own")
def function_help(session: Session) -> Reply:
    """Describe the subcommands."""
    return help_of("FUNCTION")
