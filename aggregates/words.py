"""Words: text that a person or an agent wrote.

Words are redacted before they become part of an event and are sealed under their developer's data key when the
event is stored. When that key has been destroyed, the text is gone for good and `text` is None.
"""

import msgspec


class Words(msgspec.Struct, frozen=True):
    """A text in the clear, inside the process only; None once its data key has been destroyed."""

    text: str | None


class Span(msgspec.Struct, frozen=True, array_like=True):
    """A half-open range of characters [start, end) in a `Words` value of the same event."""

    start: int
    end: int


def cut(words: Words, span: Span | None) -> str | None:
    """The text a span points at, or None where there is no span or the words are gone."""
    if span is None or words.text is None:
        return None
    return words.text[span.start : span.end]
