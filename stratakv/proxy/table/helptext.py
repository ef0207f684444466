"""HELP of the containers, made from the table: the syntax of each subcommand and its summary."""

from stratakv.proxy.table.registry import TABLE
from stratakv.proxy.wire.replies import Status


def help_of(container: str) -> list[Status]:
    """The lines of `CONTAINER HELP`."""
    entry = TABLE[container.lower().encode()]
    lines = [f"{container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"]
    for sub in sorted(entry.subcommands.values(), key=lambda one: one.name):
        if sub.words[1] != "help":
            lines += [sub.syntax.split(" ", 1)[1], "    " + sub.summary]
    lines += ["HELP", "    Print this help."]
    return [Status(line.encode()) for line in lines]
