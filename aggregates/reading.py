"""Reading a text once: what the judges need of it, without keeping its words.

`read_prompt` and `read_response` are made when the fact is projected; everything later is decided on readings. The
budget is 50 microseconds per kilobyte: tokenise once, then look up sets.
"""

import msgspec

from aggregates.words import Span


class PromptReading(msgspec.Struct, frozen=True, array_like=True):
    """What one prompt's text shows, by itself."""

    weight: int
    """Characters, a CJK character counting as three; pasted text left out."""
    navigational: str | None
    """Why this prompt only navigates: `short`, `command`, `shell`, `acknowledgement`; None for a real prompt."""
    clears: bool
    """True for a `/clear` prompt."""
    tokens: tuple[int, ...]
    """Keyed digests of the distinct lower-cased word tokens, sorted; at most `TOKENS_MAX`."""
    title: Span
    """A heuristic title within the prompt, at most 60 characters."""
    summary: Span
    """At most 240 characters."""


class ResponseReading(msgspec.Struct, frozen=True, array_like=True):
    """What one response's text shows."""

    tokens: tuple[int, ...]
