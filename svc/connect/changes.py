"""What is switched on in one file, done and undone. Pure.

Done, a change says what was there before. Undone, it gives that back, but only where what stands there now is still
what was written: whatever a person has changed since is theirs.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from svc.connect.documents import Document, Missing


class Put(msgspec.Struct, frozen=True, tag="put"):
    """A key gets a value."""

    path: tuple[str, ...]
    value: Any


class Append(msgspec.Struct, frozen=True, tag="append"):
    """A list gets an element."""

    path: tuple[str, ...]
    value: Any


Change = Put | Append


class Done(msgspec.Struct, frozen=True):
    """A change that was made."""

    change: Change
    had: bool
    """Whether the key was there before."""
    before: Any = None
    made: int = 0
    """How many of the outermost-in containers on the way to it are ours: they go when they are empty again."""


def apply(document: Document, text: str, changes: Sequence[Change]) -> tuple[str, tuple[Done, ...]]:
    """The text with all changes, and what to undo. What is there already is not done. Raises `Unreadable`."""
    done: list[Done] = []
    for change in changes:
        before = document.get(text, change.path)
        had = not isinstance(before, Missing)
        made = _missing(document, text, change.path)
        if isinstance(change, Append):
            if had and isinstance(before, list) and change.value in before:
                continue
            text = document.append(text, change.path, change.value)
            done.append(Done(change, had, made=made))
        elif not had or before != change.value:
            text = document.put(text, change.path, change.value)
            done.append(Done(change, had, before if had else None, made))
    return text, tuple(done)


def undo(document: Document, text: str, done: Sequence[Done]) -> tuple[str, list[str]]:
    """The text without the changes, and the keys that somebody has changed since, which stay. Raises `Unreadable`."""
    left: list[str] = []
    for each in reversed(done):
        change, now = each.change, document.get(text, each.change.path)
        if isinstance(change, Append):
            if isinstance(now, list) and change.value in now:
                text = document.drop(text, change.path, change.value)
                text = text if each.had else _without_empty(document, text, change.path, 1 + each.made)
            elif isinstance(now, Missing):
                text = _without_empty(document, text, change.path[:-1], each.made)
        elif isinstance(now, Missing):
            text = _without_empty(document, text, change.path[:-1], each.made)
        elif now != change.value:
            left.append(".".join(change.path))
        elif each.had:
            text = document.put(text, change.path, each.before)
        else:
            text = document.delete(text, change.path)
            text = _without_empty(document, text, change.path[:-1], each.made)
    return text, left


def _missing(document: Document, text: str, path: tuple[str, ...]) -> int:
    """How many containers on the way to a key are not there."""
    return sum(isinstance(document.get(text, path[:depth]), Missing) for depth in range(1, len(path)))


def _without_empty(document: Document, text: str, path: tuple[str, ...], levels: int) -> str:
    """Without the empty containers at the end of the path, so many levels up at most."""
    for _ in range(levels):
        if not path or document.get(text, path) not in ({}, []):
            break
        text = document.delete(text, path)
        path = path[:-1]
    return text
