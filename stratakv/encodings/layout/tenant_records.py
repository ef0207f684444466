"""What is stored of a tenant: a namespace that users are bound to, with databases of its own.

"u#" | name -> u64 id | u64 keys | u64 bytes | u64 operations | u64 clients | names

The four numbers are the quota, 0 where there is none. `names` are the namespaces of the tenant's
databases in their order, joined by ","; an empty one, or one that is missing, is the first
(see rows.first_namespace).
"""

import re
import struct
from typing import Final, NamedTuple

from stratakv.encodings.layout import rows
from stratakv.errors import Corrupt

_NAME: Final = re.compile(rb"[A-Za-z0-9_.-]{1,64}")
_HEAD: Final = struct.Struct(">5Q")


class Quota(NamedTuple):
    """What a tenant may use; 0 is no limit."""

    keys: int = 0
    bytes: int = 0
    operations: int = 0
    """In a second."""
    clients: int = 0


class TenantRecord:
    """A tenant as it is stored."""

    __slots__ = ("id", "name", "names", "quota")

    def __init__(self, name: bytes, id_: int, quota: Quota, names: dict[int, bytes]) -> None:
        self.name = name
        self.id = id_
        """Never used again for another."""
        self.quota = quota
        self.names = names
        """The namespaces of databases by their numbers, but for those that have their first."""

    def index(self, number: int) -> int:
        """The index of a database among those of all tenants."""
        return self.id << rows.TENANT_BITS | number

    def namespace(self, number: int) -> bytes:
        """The namespace of a database."""
        return self.names.get(number) or rows.first_namespace(self.index(number))

    def rename(self, number: int, ns: bytes) -> None:
        """A database has another namespace from now on."""
        if ns == rows.first_namespace(self.index(number)):
            self.names.pop(number, None)
        else:
            self.names[number] = ns

    def owns(self, ns: bytes) -> bool:
        """Whether a namespace is one of its databases', or that of its libraries."""
        if ns in self.names.values() or ns == rows.library_namespace(self.id):
            return True
        label = rows.first_namespace(self.index(0))[:-2]
        number = ns[len(label) : -1]
        return ns.startswith(label) and number.isdigit() and int(number) not in self.names

    @property
    def row(self) -> bytes:
        """Where it is stored."""
        return rows.TENANT + self.name


def is_name(name: bytes) -> bool:
    """Whether a tenant may be called so."""
    return _NAME.fullmatch(name) is not None


def quota_text(quota: Quota) -> bytes:
    """A quota in words, as dumps have it."""
    return b" ".join(b"%d" % number for number in quota)


def tenant_of_text(id_: bytes, text: bytes) -> TenantRecord | None:
    """The tenant that a dump tells of by an id, and a name with a quota; None if it is none."""
    name, *numbers = text.split(b" ")
    if not is_name(name) or len(numbers) != len(Quota._fields):
        return None
    if not all(word.isdigit() and len(word) < 20 for word in (id_, *numbers)) or not int(id_):
        return None
    return TenantRecord(name, int(id_), Quota(*map(int, numbers)), {})


def encode_tenant(tenant: TenantRecord) -> bytes:
    """The value of its row."""
    last = max(tenant.names, default=-1)
    names = [tenant.names.get(number, b"")[:-1] for number in range(last + 1)]
    return _HEAD.pack(tenant.id, *tenant.quota) + b",".join(names)


def decode_tenant(row: bytes, raw: bytes) -> TenantRecord:
    """The tenant of a row; raises Corrupt."""
    name = row[len(rows.TENANT) :]
    if len(raw) < _HEAD.size or not is_name(name):
        raise Corrupt(row, "the row of a tenant")
    id_, *quota = _HEAD.unpack_from(raw)
    found = raw[_HEAD.size :].split(b",")
    names = {number: ns + b":" for number, ns in enumerate(found) if ns}
    return TenantRecord(name, id_, Quota(*quota), names)
