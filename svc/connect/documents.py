"""A settings file as a text that is changed in single places. Pure; everything else in the text stays as it is."""

from collections.abc import Sequence
from typing import Any, Final, Protocol

Path = Sequence[str]
"""Keys from the outermost in."""


class Missing:
    """Says that a key is not there; null may be."""


MISSING: Final = Missing()


class Unreadable(Exception):
    """The text cannot be changed safely; the message says why, and where."""


class Document(Protocol):
    """One format. Every change gives the new text. All raise `Unreadable`."""

    def get(self, text: str, path: Path) -> Any:
        """The value as plain Python, or `MISSING`."""

    def put(self, text: str, path: Path, value: Any) -> str:
        """Set a value; what is missing on the way to it is made."""

    def delete(self, text: str, path: Path) -> str:
        """Take a key out that is there."""

    def append(self, text: str, path: Path, value: Any) -> str:
        """Add an element to the list there, which is made where it is missing."""

    def drop(self, text: str, path: Path, value: Any) -> str:
        """Take the first element out that is equal to this value and is there."""
