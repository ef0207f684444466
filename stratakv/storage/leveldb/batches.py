"""Batches: rows into plyvel's WriteBatch. A module of its own, since it is worth compiling."""

from typing import Any

from stratakv.storage.contract import Rows


def fill(batch: Any, rows: Rows) -> None:
    """Put and delete all rows."""
    put, delete = batch.put, batch.delete
    for row, value in rows.items():
        if value is None:
            delete(row)
        else:
            put(row, value)
