"""Whether a table of an HBase is in order: `stratakv check --engine hbase`.

Each group is a store of its own, and is looked at as it is at one moment, while servers go on
writing: what is committed are whole units of work, so the invariants hold at any.
"""

import sys
from contextlib import closing

from stratakv.encodings.upkeep.check import Checker, problems_text, show_progress
from stratakv.errors import CommandError
from stratakv.storage.tables import copy_of_group, is_empty, open_table


def check_table(zookeeper: str, name: str) -> int:
    """A line per problem, then a summary. 0 if there is none, else 1.

    A group is copied into a temporary directory, so there has to be room for the largest.
    """
    found = keys = rows = 0
    with closing(open_table(zookeeper, name)) as table:
        for number in range(table.groups):
            with copy_of_group(table, number) as copy:
                if is_empty(copy):
                    continue  # nobody has had it yet
                checker = Checker(copy, show_progress if sys.stderr.isatty() else None)
                try:
                    for problem in checker.run():
                        found += 1
                        print(f"group {number}: {problem}")
                except CommandError as error:
                    found += 1
                    print(f"group {number}: {error.text.decode('latin-1')}")
                keys, rows = keys + checker.keys, rows + checker.rows
        groups = f"{table.groups} group" + "s" * (table.groups > 1)
    print(f"{name}: {keys} keys, {rows} rows of {groups} checked, {problems_text(found)}")
    return 1 if found else 0
