"""Searching a text for letters of any case.

A pattern that knows no case is several times slower than one over the lower-cased text, so the latter is used wherever
it finds the same at the same places.
"""

import re

_OTHER_CASES = "\u017f\u212a\u0131\u0130"
"""Long s, Kelvin, dotless and dotted i: a caseless pattern takes them for ASCII letters, and `lower` does not turn them
into these, or changes a text's length."""


def lower_cased(text: str) -> str | None:
    """The text in lower case, letter by letter at the same places; None where it has none that may be searched."""
    if not text.isascii() and any(letter in text for letter in _OTHER_CASES):
        return None
    return text.lower()


class Caseless:
    """A pattern, written in lower case, that finds letters of any case."""

    def __init__(self, pattern: str) -> None:
        self._lower = re.compile(pattern)
        self._any = re.compile(pattern, re.IGNORECASE)

    def search(self, text: str, lowered: str | None) -> re.Match[str] | None:
        """The first match in a text, of which `lowered` is the `lower_cased`."""
        return self._any.search(text) if lowered is None else self._lower.search(lowered)
