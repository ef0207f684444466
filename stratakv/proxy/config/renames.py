"""`rename-command`: commands that are called otherwise, or by nobody.

As in Redis, the command stays what it was: rights, statistics, COMMAND and its errors go on naming
it as ever. What is sent by that name, to replicas as well, has it as it was sent.
"""

from stratakv.options import RENAMES, BadOption, Options
from stratakv.proxy.table import registry


def rename_commands(options: Options) -> None:
    """Give commands their names; raises BadOption. Requires: it is done once in a process."""
    for name, new in options.renames:
        try:
            registry.rename(*(word.encode("utf-8", "surrogateescape") for word in (name, new)))
        except KeyError:
            reason = "No such command in rename-command"
            raise BadOption(RENAMES, name, reason, options.config) from None
        except ValueError:
            reason = "Target command name already exists"
            raise BadOption(RENAMES, new, reason, options.config) from None
