"""COMMAND: the table as clients ask for it."""

from collections.abc import Sequence

from stratakv import errors
from stratakv.encodings.layout.globs import compile_glob
from stratakv.encodings.layout.numbers import parse_int
from stratakv.errors import CommandError
from stratakv.proxy.clients.session import Session
from stratakv.proxy.table import syntax
from stratakv.proxy.table.categories import CATEGORIES
from stratakv.proxy.table.helptext import help_of
from stratakv.proxy.table.keyspecs import KeySpec
from stratakv.proxy.table.registry import (
    CALLED,
    Command,
    CommandGroup,
    every_entry,
    find_called,
    find_entry,
)
from stratakv.proxy.table.syntax import Argument
from stratakv.proxy.wire.replies import Members, Reply, Status

command = CommandGroup("server").command

_ANY = "loading stale"
_ORDER = """
    write readonly denyoom admin pubsub noscript blocking loading stale skip_monitor skip_slowlog
    asking fast no_auth may_replicate no_mandatory_keys no_async_loading no_multi movablekeys
    allow_busy"""
_FLAGS = _ORDER.split()
"""The flags in the order in which Redis lists them."""


@command(
    "COMMAND",
    _ANY,
    arity=-1,
    categories="connection",
    tips="nondeterministic_output_order",
    since="2.8.13",
    tenants="own",
)
def command_(session: Session) -> Reply:
    """Describe every command: arity, flags, key positions."""
    return [_info(entry) for entry in CALLED.values()]


@command("COMMAND HELP", _ANY, categories="connection", since="5.0.0", tenants="own")
def command_help(session: Session) -> list[Status]:
    """Show the subcommands."""
    return help_of("COMMAND")


@command("COMMAND COUNT", _ANY, categories="connection", since="2.8.13", tenants="own")
def command_count(session: Session) -> int:
    """Return the number of commands."""
    return len(CALLED)


@command(
    "COMMAND INFO [command-name [command-name ...]]",
    _ANY,
    categories="connection",
    tips="nondeterministic_output_order",
    since="2.8.13",
    tenants="own",
)
def command_info(session: Session, *names: bytes) -> Reply:
    """Describe some commands, or all of them."""
    if not names:
        return command_(session)
    found = [find_entry(name, CALLED) for name in names]
    return [_info(entry) if entry is not None else None for entry in found]


@command(
    "COMMAND DOCS [command-name [command-name ...]]",
    _ANY,
    categories="connection",
    tips="nondeterministic_output_order",
    since="7.0.0",
    tenants="own",
)
def command_docs(session: Session, *names: bytes) -> Reply:
    """Document some commands, or all of them."""
    chosen = [find_entry(name, CALLED) for name in names] if names else CALLED.values()
    return {entry.name.encode(): _docs(entry) for entry in chosen if entry is not None}


@command(
    "COMMAND LIST [FILTERBY <MODULE module-name|ACLCAT category|PATTERN pattern>]",
    _ANY,
    categories="connection",
    tips="nondeterministic_output_order",
    since="7.0.0",
    tenants="own",
)
def command_list(session: Session, *arguments: bytes) -> Reply:
    """List the names of the commands that pass a filter, or of all."""
    if not arguments:
        return [entry.name.encode() for entry in every_entry(CALLED)]
    if len(arguments) != 3 or arguments[0].upper() != b"FILTERBY":
        raise errors.syntax()
    kind, wanted = arguments[1].upper(), arguments[2].lower()
    if kind == b"MODULE":
        return []
    if kind == b"PATTERN":
        matches = compile_glob(wanted)
        return [
            entry.name.encode() for entry in every_entry(CALLED) if matches(entry.name.encode())
        ]
    if kind != b"ACLCAT":
        raise errors.syntax()
    category = wanted.decode("latin-1")
    return [entry.name.encode() for entry in every_entry(CALLED) if category in entry.categories]


@command(
    "COMMAND GETKEYS command [arg [arg ...]]",
    _ANY,
    arity=-4,
    categories="connection",
    since="2.8.13",
    tenants="own",
)
def command_getkeys(session: Session, *request: bytes) -> Reply:
    """Return the keys that a command would touch."""
    return _keys(request)[1]


@command(
    "COMMAND GETKEYSANDFLAGS command [arg [arg ...]]",
    _ANY,
    arity=-4,
    categories="connection",
    since="7.0.0",
    tenants="own",
)
def command_getkeysandflags(session: Session, *request: bytes) -> Reply:
    """Return the keys that a command would touch, and what it would do with each."""
    entry, keys = _keys(request)
    return [
        [key, Members(Status(flag.encode()) for flag in _usage(entry, request, number))]
        for number, key in enumerate(keys)
    ]


# finding


def _keys(request: Sequence[bytes]) -> tuple[Command, list[bytes]]:
    entry = find_called(request)
    if entry is None:
        raise CommandError(errors.INVALID_COMMAND)
    if not entry.touches_keys:
        raise CommandError(errors.COMMAND_WITHOUT_KEYS)
    if not entry.min_args <= len(request) <= entry.max_args:
        raise CommandError(errors.COMMAND_ARGUMENT_COUNT)
    if not all(_has_keys(spec, request) for spec in entry.key_specs):
        if "no_mandatory_keys" in entry.flags:
            return entry, []
        raise CommandError(errors.COMMAND_ARGUMENTS)
    keys = entry.find_keys(request)
    if not keys and "no_mandatory_keys" not in entry.flags:
        raise CommandError(errors.COMMAND_ARGUMENTS)
    return entry, keys


def _has_keys(spec: KeySpec, request: Sequence[bytes]) -> bool:
    """Whether the number of keys is one, and so many arguments follow it."""
    if spec.find != "keynum":
        return True
    number = parse_int(request[spec.begin])
    return number is not None and 0 < number < len(request) - spec.begin


def _usage(entry: Command, request: Sequence[bytes], number: int) -> Sequence[str]:
    """What the command does with its key of that number."""
    specs = entry.key_specs
    spec = specs[0] if number == 0 or len(specs) == 1 else specs[-1]
    if entry.key_flags_finder is None:
        return spec.flags
    return entry.key_flags_finder(request).split()


# describing


def _info(entry: Command) -> Reply:
    first, last, step = entry.keys
    return [
        entry.name.encode(),
        entry.arity,
        _words([flag for flag in _FLAGS if flag in entry.flags]),
        *(first, last, step),
        _words(["@" + name for name in CATEGORIES if name in entry.categories]),
        Members(tip.encode() for tip in entry.tips),
        Members(_key_spec(spec) for spec in entry.key_specs),
        [_info(sub) for sub in entry.subcommands.values()] or Members(),
    ]


def _words(words: Sequence[str]) -> Members:
    return Members(Status(word.encode()) for word in words)


def _key_spec(spec: KeySpec) -> Reply:
    begin: Reply = {b"type": b"index", b"spec": {b"index": spec.begin}}
    find: Reply = {
        b"type": b"range",
        b"spec": {b"lastkey": spec.last, b"keystep": spec.step, b"limit": spec.limit},
    }
    if spec.keyword:
        word = {b"keyword": spec.keyword.encode(), b"startfrom": spec.begin}
        begin = {b"type": b"keyword", b"spec": word}
    if spec.find == "keynum":
        where = {b"keynumidx": 0, b"firstkey": 1, b"keystep": 1}
        find = {b"type": b"keynum", b"spec": where}
    elif spec.find == "unknown":
        begin = find = {b"type": b"unknown", b"spec": {}}
    notes = {b"notes": spec.notes.encode()} if spec.notes else {}
    return {**notes, b"flags": _words(spec.flags), b"begin_search": begin, b"find_keys": find}


def _docs(entry: Command) -> Reply:
    docs: dict[bytes, Reply] = {
        b"summary": entry.summary.encode(),
        b"since": entry.since.encode(),
        b"group": entry.group.encode(),
    }
    if entry.subcommands:
        subs = entry.subcommands.values()
        docs[b"subcommands"] = {sub.name.encode(): _docs(sub) for sub in subs}
    if not entry.container:
        tree = syntax.arguments(entry.syntax, len(entry.words))
        if tree:
            docs[b"arguments"] = [_argument(part) for part in tree]
    return docs


_MARKS = {"optional": "optional", "multiple": "multiple", "multiple_token": "repeats_token"}


def _argument(part: Argument) -> Reply:
    shown: dict[bytes, Reply] = {b"name": part.name.encode(), b"type": part.kind.encode()}
    if part.kind == "key":
        shown[b"key_spec_index"] = 0
    if part.token:
        shown[b"token"] = part.token.encode()
    marks = [word for word, name in _MARKS.items() if getattr(part, name)]
    if marks:
        shown[b"flags"] = _words(marks)
    if part.parts:
        shown[b"arguments"] = [_argument(inner) for inner in part.parts]
    return shown
