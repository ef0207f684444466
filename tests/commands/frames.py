"""Replies compared without what Redis leaves open."""

from tests.harness.wire import Frame


def unordered(frame: Frame) -> object:
    """The frame without the order of its elements, of pairs within it too."""
    if frame.items is None:
        return (frame.kind, frame.data)
    return (frame.kind, sorted((unordered(item) for item in frame.items), key=repr))


def shape(frame: Frame) -> object:
    """Only the kinds and numbers of elements."""
    if frame.items is None:
        return (frame.kind, frame.is_null)
    return (frame.kind, [shape(item) for item in frame.items])
