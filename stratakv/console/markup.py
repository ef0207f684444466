"""HTML whose every text is escaped: made of elements, never out of strings.

A `Markup` is made here alone. Scripts and styles stand in files of their own, so attributes that
would hold some are refused.
"""

from collections.abc import Iterable
from html import escape
from typing import Final

VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Markup(str):
    """HTML that may stand in a page as it is."""

    __slots__ = ()


Node = str | int | float | None | Iterable["Node"]
"""What may stand in an element: text is escaped, None is left out, a list stands in a row."""


def el(name: str, /, *children: Node, **attributes: str | int | float | bool | None) -> Markup:
    """An element. `class_` is class, `data_x` is data-x; True stands alone, None and False not."""
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def join(nodes: Node) -> Markup:
    """Some nodes in a row."""
    if isinstance(nodes, Markup):
        return nodes
    if nodes is None:
        return Markup()
    if isinstance(nodes, str | int | float):
        return Markup(escape(str(nodes)))
    return Markup("".join(join(node) for node in nodes))


def _attribute(key: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if name.startswith("on") or name == "style":
        raise ValueError(f"{name} is for files of their own")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
