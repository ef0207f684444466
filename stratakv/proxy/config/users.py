"""Where users are kept between two runs: in a file of their own, or in the configuration."""

import logging
from pathlib import Path

from stratakv.options import BadOption, Options
from stratakv.proxy.access import acl_file, describing
from stratakv.proxy.access.acl_file import BadUsers
from stratakv.proxy.access.users import Users

log = logging.getLogger("stratakv")


def load_users(users: Users, options: Options) -> None:
    """The users at the start; raises BadOption with the place and the reason of what is wrong."""
    if options.aclfile and options.users:
        raise BadOption("aclfile", options.aclfile, "users stand there or under user, not both")
    try:
        if options.aclfile:
            users.replace(acl_file.load(users, file_of(options), options.aclfile))
            if options.requirepass:
                log.warning("requirepass has no effect: the users are those of the aclfile")
        for user in acl_file.configured(users, options.users):
            known = users.find(user.name)
            if known is not None:
                known.adopt(user)
            else:
                users.add(user)
    except BadUsers as bad:
        name, value = ("aclfile", options.aclfile) if options.aclfile else ("user", None)
        raise BadOption(name, value, str(bad)) from None
    for user in users:
        if not user.is_enabled:
            log.warning("the user %r is disabled: its rules have no `on`", user.name.decode())


def file_of(options: Options) -> Path:
    """The file of the users; a relative name is one in the data directory, as in Redis."""
    return Path(options.dir) / options.aclfile


def configured_lines(users: Users) -> list[str]:
    """The users as the configuration has them."""
    lines = [describing.line(user).removeprefix(b"user ") for user in users]
    return [line.decode("utf-8", "surrogateescape") for line in lines]
